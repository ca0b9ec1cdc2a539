// Before each tool call of OpenCode that may change something: keeps what git sees, and stops what no restore point undoes.
import { execFile } from "node:child_process"

const GUARD = "p=$(git config checkpoint.install.python) k=$(git config checkpoint.install.package)/__main__.py; " +
  '[ -x "$p" ] && [ -f "$k" ] && set -- "$p" -E -P "$k" || set -- checkpoint; exec "$@" restore-point guard'

export const CheckpointGitGuard = async ({ directory }) => ({
  "tool.execute.before": (input, output) => new Promise((resolve, reject) => {
    const options = { cwd: directory, timeout: 60000 }
    const child = execFile("sh", ["-c", GUARD], options, (failed, _, said) =>
      failed ? reject(new Error(`${said ?? ""}`.trim() || `checkpoint-git: the guard failed: ${failed.message}`)) : resolve())
    child.stdin.on("error", () => {})
    const call = { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: output.args ?? {} }
    child.stdin.end(JSON.stringify(call))
  }),
})
