import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"

// Stands for the gateway where only the harness is tested: ready after a moment, a key on disk, an echo.
const { PORT, SLUICE_DATA_DIR, FAIL, READY_AFTER_MS = "100" } = process.env
process.stdout.write("starting\n")
if (FAIL !== undefined) {
  process.stderr.write(`${FAIL}\n`)
  process.exit(3)
}
writeFileSync(join(String(SLUICE_DATA_DIR), "api-key"), "sl_test_key\n")
writeFileSync(join(String(SLUICE_DATA_DIR), "pid"), String(process.pid))
const startedAt = Date.now()
createServer((request, response) => {
  if (request.url === "/readyz") {
    response.statusCode = Date.now() - startedAt < Number(READY_AFTER_MS) ? 503 : 200
    response.end()
    return
  }
  response.setHeader("content-type", "application/json")
  const status = /^\/status\/(\d+)$/.exec(request.url ?? "")?.[1]
  if (status !== undefined) {
    response.statusCode = Number(status)
    response.end(JSON.stringify({ success: false, error: { code: "insufficient_credits" } }))
    return
  }
  if (request.url === "/env") {
    response.end(JSON.stringify(Object.keys(process.env)))
    return
  }
  response.end(JSON.stringify({ path: request.url, authorization: request.headers.authorization }))
}).listen(Number(PORT), "127.0.0.1")
process.on("SIGTERM", () => process.exit(0))
