// Before each tool call of OpenCode: lets through what only reads, or what a restore point can undo, and stops the rest.
import { execFile } from "node:child_process"

const GUARD = 'p=$(git config checkpoint.install.python) && [ -x "$p" ] && set -- "$p" -E -P -m checkpoint_git ' +
  '|| set -- checkpoint; exec "$@" restore-point guard --auto'

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
// checkpoint-git 6dd28cf7b6b0d5a7 folders=2
