// A session with `checkpoint mcp`, by the TypeScript SDK: node client.mjs SDK COMMAND FOLDER. It prints what it saw.
const [sdk, command, cwd] = process.argv.slice(2);
const base = sdk === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(sdk === "v1" ? `${base}/index.js` : base);
const { StdioClientTransport } = await import(sdk === "v1" ? `${base}/stdio.js` : `${base}/stdio`);
const pinned = sdk === "v2-pinned" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: {} } }, ...pinned });

const asked = [];
const answer = async (request) => {
  asked.push(request.params.message);
  const [name, property] = Object.entries(request.params.requestedSchema.properties)[0];
  return { action: "accept", content: { [name]: property.enum?.[0] ?? "EU" } };
};
if (sdk === "v1") {
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(ElicitRequestSchema, answer);
} else client.setRequestHandler("elicitation/create", answer);

await client.connect(new StdioClientTransport({ command, args: ["mcp"], cwd, env: process.env }));
const call = async (name, args = {}) => {
  const { isError, structuredContent } = await client.callTool({ name, arguments: args });
  return { isError: isError ?? false, ...structuredContent };
};
const seen = { server: client.getServerVersion().name, version: client.getNegotiatedProtocolVersion?.() };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.show = await call("checkpoint_show", { skill: "build" });
seen.status = await call("checkpoint_status");
seen.update = await call("checkpoint_update", { skill: "build", append: { next_actions: ["Write the docs"] } });
seen.refused = await call("checkpoint_update", { skill: "build", replace: { nonsense: "x" } });
seen.ask = await call("checkpoint_ask", { skill: "build", question: "Which region?", options: ["EU", "US"] });
seen.asked = asked;
seen.unknown = await client.callTool({ name: "checkpoint_nope", arguments: {} }).catch((error) => `${error.message}`);
seen.validate = await call("checkpoint_validate");
await client.close();
console.log(JSON.stringify(seen));
