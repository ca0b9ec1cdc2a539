// Gives OpenCode the state of the work, and reminders to record progress. Without the checkpoint command it does nothing.
import { execFile } from "node:child_process"

const FIND = "p=$(git config checkpoint.install.python) k=$(git config checkpoint.install.package)/__main__.py; " +
  '[ -x "$p" ] && [ -f "$k" ] && exec "$p" -E -P "$k" "$@"; ' +
  "command -v checkpoint >/dev/null 2>&1 && exec checkpoint \"$@\"; exit 0"

export const CheckpointGit = async ({ client, directory }) => {
  const run = (session, words, more = {}) => new Promise((resolve) => {
    const options = { cwd: directory, timeout: 20000, maxBuffer: 1 << 22 }
    const child = execFile("sh", ["-c", FIND, "checkpoint", ...words], options, (_, out) => resolve((out ?? "").trim()))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ session_id: session, ...more }))
  })
  const briefs = new Map() // of each session, asked for once: every request to the model shows it
  const asked = new Set() // sessions that go on because of a reminder
  const children = new Set() // sessions of subagents, which are left alone
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (!session) return
      if (event.type === "session.created" && event.properties.info?.parentID) {
        children.add(session)
      } else if (event.type === "session.created") {
        briefs.set(session, run(session, ["prime"], { source: "startup" }))
      } else if (event.type === "session.compacted") {
        briefs.set(session, run(session, ["prime"], { source: "compact" }))
      } else if (event.type === "session.idle" && briefs.has(session)) {
        const active = asked.delete(session)
        const text = await run(session, ["session", "stop", "--block", "--json"], { stop_hook_active: active })
        const told = text ? JSON.parse(text) : {}
        if (!told.block) return
        asked.add(session)
        const parts = [{ type: "text", text: `checkpoint-git: ${told.reminder}` }]
        await client.session.prompt({ path: { id: session }, body: { parts } })
      } else if (event.type === "session.deleted") {
        briefs.delete(session)
        await run(session, ["session", "end"])
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!session || children.has(session)) return
      if (!briefs.has(session)) briefs.set(session, run(session, ["prime"], { source: "resume" }))
      const text = await briefs.get(session)
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await run(input.sessionID, ["session", "precompact"])
      if (text) output.context.push(text)
    },
  }
}
