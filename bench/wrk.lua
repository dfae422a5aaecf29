-- One request, formatted once and sent again and again: a file for the body, "name: value" lines for the headers.
-- Answers are not looked at here, which would slow wrk down: it counts them, their bytes and their errors.
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
