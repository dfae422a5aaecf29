-- One request, formatted once and sent repeatedly. BENCH_BODY names the file of its body, BENCH_HEADERS has "name: value" lines.
-- Answers are not checked here, which would slow wrk down: it counts them, their bytes and their errors.
local body = assert(io.open(os.getenv("BENCH_BODY"), "rb"))
wrk.method = "POST"
wrk.body = body:read("*a")
body:close()
for name, value in os.getenv("BENCH_HEADERS"):gmatch("([^\n:]+): ([^\n]*)") do
  wrk.headers[name] = value
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nresult {"requests":%d,"bytes":%.0f,"microseconds":%.0f,"p50":%.0f,"p99":%.0f,"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}\n',
    summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect, e.read, e.write, e.status, e.timeout))
end
