import { createHash } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../core/domain/errors.ts';
import { isJsonObject } from '../../core/domain/json.ts';
import type { RedisConnection } from '../../streams/redis/redis-connection.ts';
import { LEDGER as L, type Ledger, type LedgerAnswer, type LedgerReport, type ParkedCall } from '../ledger.ts';
import { NO_LIMIT } from '../limits.ts';
import { type KeptLimits, MemoryLedger } from '../memory-ledger.ts';

/**
 * The account of one provider as a script: takes the report of a process and returns its answer, in one step and by the clock of
 * Redis. It follows the rules of `MemoryLedger`, in the same order; a test compares the answers of both.
 *
 * KEYS: the state, the processes by name, what tenants were served, when they were; the calls with places by the time when they are
 * forgotten, their number by tenant, their order, and their names in that order.
 * ARGV: the report and the limits as JSON; the time of the test, or nothing.
 */
const GRANT_SCRIPT = `
local report = cjson.decode(ARGV[1])
local limits = cjson.decode(ARGV[2])
local clock = redis.call('TIME')
local now = tonumber(ARGV[3]) or (tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
local known = redis.call('HMGET', KEYS[1], 'at', 'requests', 'tokens', 'rate', 'top', 'cutAt', 'holdUntil', 'headerRequests', 'headerTokens',
  'callMs')
local at = tonumber(known[1])
local requests = tonumber(known[2]) or 0
local tokens = tonumber(known[3]) or 0
local rate = tonumber(known[4]) or 1
local top = tonumber(known[5]) or 1
local cutAt = tonumber(known[6]) or -1e15
local holdUntil = tonumber(known[7]) or 0
local headerRequests = tonumber(known[8]) or ${NO_LIMIT}
local headerTokens = tonumber(known[9]) or ${NO_LIMIT}
local callMs = tonumber(known[10]) or ${L.callMs}
local function number(value) return string.format('%.17g', value) end

-- Learn.
local passed = 0
if at then passed = math.max(0, now - at) end
local growth = ${L.slowGrowth}
if rate < top * ${L.near} then growth = ${L.fastGrowth} end
rate = math.min(1, rate + passed * growth)
top = math.max(top, rate)
headerRequests = report.headerRequests or headerRequests
headerTokens = report.headerTokens or headerTokens
if report.holdMs > 0 then holdUntil = math.max(holdUntil, now + report.holdMs) end
if report.learns and report.refused > 0 and now - cutAt >= ${L.cutMs} then
  cutAt = now
  top = rate
  rate = math.max(${L.leastRate}, rate * ${L.cut})
end

-- Refill.
local perMinute = math.min(limits.requestsPerMinute, headerRequests) * rate
local tokensPerMinute = math.min(limits.tokensPerMinute, headerTokens) * rate
local mostRequests = math.max(1 + perMinute * ${L.betweenReports}, perMinute * ${L.savedRequests})
local savedTokens = math.max(1, tokensPerMinute * ${L.savedTokens})
local mostTokens = savedTokens + tokensPerMinute * ${L.betweenReports}
passed = 60000
if at then passed = math.max(0, now - at) end
at = math.max(at or now, now)
requests = math.min(mostRequests, requests + passed * perMinute / 60000 + report.returned)
tokens = math.min(mostTokens, tokens + passed * tokensPerMinute / 60000 + report.returned * report.tokensPerCall - report.spentTokens)
if report.isAfresh or report.refused > 0 then requests = math.min(0, requests) end

-- Forget processes that no longer report, calls that have not come back, and old usage of tenants without calls.
local processes = {}
local workers = 0
local stored = redis.call('HGETALL', KEYS[2])
local busy = {}
for index = 1, #stored, 2 do
  local one = cjson.decode(stored[index + 1])
  if one.untilAt < now then redis.call('HDEL', KEYS[2], stored[index])
  else
    for _, group in ipairs(one.groups) do busy[group.tenant] = true end
    if stored[index] ~= report.process then
      processes[stored[index]] = one
      workers = workers + 1
    end
  end
end
local function tenantOf(call) return string.match(call, '^([^ ]*) ') end
local function remove(call)
  if redis.call('ZREM', KEYS[5], call) == 0 then return end
  local name = redis.call('HGET', KEYS[8], call)
  if name then redis.call('ZREM', KEYS[7], name) end
  redis.call('HDEL', KEYS[8], call)
  local tenant = tenantOf(call)
  if redis.call('HINCRBY', KEYS[6], tenant, -1) < 1 then redis.call('HDEL', KEYS[6], tenant) end
end
for _, call in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', '(' .. now, 'LIMIT', 0, 1000)) do remove(call) end
local function servedBy(value)
  if not value then return nil end
  local amount, when = string.match(value, '^(.*) (.*)$')
  return tonumber(amount) * 2 ^ (-((now - tonumber(when)) / ${L.halfLifeMs}))
end
local amounts = {}
local function load(names)
  for from = 1, #names, 1000 do
    local upTo = math.min(#names, from + 999)
    for index, value in ipairs(redis.call('HMGET', KEYS[3], unpack(names, from, upTo))) do
      amounts[names[from + index - 1]] = servedBy(value) or false
    end
  end
end
local function serve(tenant, amount)
  amounts[tenant] = amount
  redis.call('HSET', KEYS[3], tenant, number(amount) .. ' ' .. string.format('%d', now))
  redis.call('ZADD', KEYS[4], now, tenant)
end
for _, tenant in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. (now - ${L.creditMs}), 'LIMIT', 0, 1000)) do
  if busy[tenant] or redis.call('HEXISTS', KEYS[6], tenant) == 1 then serve(tenant, servedBy(redis.call('HGET', KEYS[3], tenant)) or 0)
  else
    redis.call('ZREM', KEYS[4], tenant)
    redis.call('HDEL', KEYS[3], tenant)
  end
end

-- Note the process and the places of its calls.
local function startOf(call) return string.format('%s %06d %016.0f ', tenantOf(call.call), call.priority, call.since + 1e15) end
local function place(call, untilAt)
  local name = startOf(call) .. string.match(call.call, ' (.*)$')
  if redis.call('ZADD', KEYS[5], untilAt, call.call) == 1 then redis.call('HINCRBY', KEYS[6], tenantOf(call.call), 1)
  else
    local known = redis.call('HGET', KEYS[8], call.call)
    if known and known ~= name then redis.call('ZREM', KEYS[7], known) end
  end
  redis.call('ZADD', KEYS[7], 0, name)
  redis.call('HSET', KEYS[8], call.call, name)
end
for _, call in ipairs(report.gone) do remove(call) end
for _, call in ipairs(report.parked) do place(call, now + call.forMs + ${L.parkedSlackMs}) end
for _, call in ipairs(report.places) do place(call, now + ${L.placeMs}) end
local mine = { untilAt = now + ${L.forgetMs}, inFlight = report.inFlight, lent = report.lent, callMs = report.callMs, groups = {}, granted = {} }
for index, group in ipairs(report.waiting) do
  mine.groups[index] = { tenant = group.tenant, priority = group.priority, since = group.since, tokens = group.tokens, count = group.count }
end
if report.leaves then redis.call('HDEL', KEYS[2], report.process)
else
  processes[report.process] = mine
  workers = workers + 1
end

-- The tenants with waiting or parked calls.
local settling = {}
local waitingTenants = {}
for _, one in pairs(processes) do
  for tenant, count in pairs(one.granted or {}) do settling[tenant] = (settling[tenant] or 0) + count end
  for _, group in ipairs(one.groups) do
    if amounts[group.tenant] == nil then
      amounts[group.tenant] = false
      waitingTenants[#waitingTenants + 1] = group.tenant
    end
  end
end
load(waitingTenants)
local function backlog()
  local calls = {}
  local names = {}
  local function count(tenant, amount)
    if not calls[tenant] then names[#names + 1] = tenant end
    calls[tenant] = amount
  end
  for _, one in pairs(processes) do
    for _, group in ipairs(one.groups) do if group.count > 0 then count(group.tenant, (calls[group.tenant] or 0) + group.count) end end
  end
  local others = { tenants = 0, calls = 0 }
  if redis.call('HLEN', KEYS[6]) > ${L.mostTenants} then
    local waiting = #names
    others.tenants = redis.call('HLEN', KEYS[6])
    others.calls = redis.call('ZCARD', KEYS[5])
    for index = 1, waiting do
      local placed = tonumber(redis.call('HGET', KEYS[6], names[index]) or 0)
      if placed > 0 then
        others.tenants = others.tenants - 1
        others.calls = others.calls - placed
        count(names[index], math.max(calls[names[index]], placed - (settling[names[index]] or 0)))
      end
    end
  else
    local placed = redis.call('HGETALL', KEYS[6])
    for index = 1, #placed, 2 do
      local left = tonumber(placed[index + 1]) - (settling[placed[index]] or 0)
      if left > 0 then count(placed[index], math.max(calls[placed[index]] or 0, left)) end
    end
  end
  local unread = {}
  for _, tenant in ipairs(names) do if amounts[tenant] == nil then unread[#unread + 1] = tenant end end
  load(unread)
  local tenants = {}
  local least = nil
  for index, tenant in ipairs(names) do
    local amount = amounts[tenant]
    if amount and (not least or amount < least) then least = amount end
    tenants[index] = { tenant = tenant, amount = amount, calls = calls[tenant] }
  end
  return tenants, others, least
end

-- Record the usage with which new tenants begin.
local unknown = {}
for _, group in ipairs(report.waiting) do
  if not report.leaves and not amounts[group.tenant] then unknown[#unknown + 1] = group.tenant end
end
if #unknown > 0 then
  local _, _, least = backlog()
  local amount = 0
  if least then amount = least + ${L.newcomer} end
  for _, tenant in ipairs(unknown) do serve(tenant, amount) end
end

-- Grant.
local granted = {}
for index = 1, #report.waiting do granted[index] = 0 end
local used = 0
local queues = {}
local order = {}
for process, one in pairs(processes) do
  used = used + one.inFlight + one.lent
  for index, group in ipairs(one.groups) do
    if group.count >= 1 then
      local queue = queues[group.tenant]
      if not queue then
        queue = {}
        queues[group.tenant] = queue
        order[#order + 1] = { tenant = group.tenant, amount = false, left = 0 }
      end
      queue[#queue + 1] = { process = process, index = index, priority = group.priority, since = group.since, tokens = group.tokens, left = group.count }
    end
  end
end
local function comesBefore(one, other)
  if one.priority ~= other.priority then return one.priority < other.priority end
  if one.since ~= other.since then return one.since < other.since end
  if one.process ~= other.process then return one.process < other.process end
  return one.index < other.index
end
local givenNow = 0
if now >= holdUntil and #order > 0 and requests >= 1 then
  table.sort(order, function(one, other) return one.tenant < other.tenant end)
  local least = nil
  for _, one in ipairs(order) do
    local amount = amounts[one.tenant]
    one.amount = amount or false
    one.known = amount or false
    if amount and (not least or amount < least) then least = amount end
    table.sort(queues[one.tenant], comesBefore)
    for _, call in ipairs(queues[one.tenant]) do one.left = one.left + call.left end
  end
  least = least or 0
  for _, one in ipairs(order) do one.amount = one.amount or least; one.known = one.known or least; one.mine = 0; one.first = 1 end
  local leftRequests = requests
  local leftTokens = tokens
  local free = limits.concurrency - used
  for _ = 1, ${L.mostGrants} do
    local best = nil
    for _, one in ipairs(order) do if one.left > 0 and (not best or one.amount < best.amount) then best = one end end
    if not best or leftRequests < 1 or free < 1 then break end
    local queue = queues[best.tenant]
    while queue[best.first].left == 0 do best.first = best.first + 1 end
    local call = queue[best.first]
    if leftTokens < math.min(call.tokens, savedTokens) then break end
    leftRequests = leftRequests - 1
    leftTokens = leftTokens - call.tokens
    free = free - 1
    best.amount = best.amount + 1
    best.left = best.left - 1
    call.left = call.left - 1
    if call.process == report.process then
      granted[call.index] = granted[call.index] + 1
      givenNow = givenNow + 1
      requests = requests - 1
      tokens = tokens - call.tokens
      best.mine = best.mine + 1
    end
  end
  for _, one in ipairs(order) do
    if one.mine > 0 then
      serve(one.tenant, one.known + one.mine)
      mine.granted[one.tenant] = one.mine
      settling[one.tenant] = (settling[one.tenant] or 0) + one.mine
    end
  end
end

-- What waits now, and what may be lent.
mine.inFlight = mine.inFlight + givenNow
used = used + givenNow
for index, group in ipairs(mine.groups) do group.count = group.count - granted[index] end
local allWaiting = 0
local waitingTokens = 0
for _, one in pairs(processes) do
  for _, group in ipairs(one.groups) do
    allWaiting = allWaiting + group.count
    waitingTokens = waitingTokens + group.count * group.tokens
  end
end
local lent = 0
if now >= holdUntil and allWaiting == 0 and redis.call('ZCARD', KEYS[5]) == 0 and report.wanted >= 1 and not report.leaves then
  local free = limits.concurrency - used
  local byTokens = math.floor(tokens / math.max(1, report.tokensPerCall))
  lent = math.max(0, math.min(report.wanted, math.floor(requests * ${L.lentPart}), byTokens, math.floor(free * ${L.lentPart})))
  requests = requests - lent
  tokens = tokens - lent * report.tokensPerCall
  mine.lent = mine.lent + lent
  used = used + lent
end
if not report.leaves then redis.call('HSET', KEYS[2], report.process, cjson.encode(mine)) end

-- When there will be permits.
local total = 0
local weights = 0
for _, one in pairs(processes) do
  if (one.callMs or 0) > 0 then
    total = total + one.callMs * (one.inFlight + 1)
    weights = weights + one.inFlight + 1
  end
end
if weights > 0 then callMs = total / weights end
local tokensPerCall = report.tokensPerCall
if allWaiting > 0 then tokensPerCall = waitingTokens / allWaiting end
local requestMs = 60000 / perMinute
local tokenMs = 60000 / tokensPerMinute
local slotMs = callMs / limits.concurrency
local permitMs = math.max(requestMs, tokenMs * tokensPerCall, slotMs)
local lacked = math.min(tokensPerCall, savedTokens) - tokens
local nextMs = math.max(0, holdUntil - now, (1 - requests) * requestMs, lacked * tokenMs)
if limits.concurrency - used < 1 then nextMs = math.max(nextMs, slotMs) end

-- How many permits go to other calls first, if parked calls come back before their turn.
local ahead = {}
if #report.places > 0 then
  local tenants, others, least = backlog()
  least = least or 0
  for index, call in ipairs(report.places) do
    local tenant = tenantOf(call.call)
    local name = startOf(call) .. string.match(call.call, ' (.*)$')
    local own = math.max(0, redis.call('ZLEXCOUNT', KEYS[7], '[' .. tenant .. ' ', '(' .. name) - (settling[tenant] or 0))
    if amounts[tenant] == nil then load({ tenant }) end
    local level = (amounts[tenant] or least) + own
    local count = own + math.min(others.calls, others.tenants * math.max(0, math.ceil(level - least)))
    for _, one in ipairs(tenants) do
      local lead = level - (one.amount or least)
      if lead >= 0 and one.tenant ~= tenant then
        local turns = math.ceil(lead)
        if turns == lead and one.tenant < tenant then turns = turns + 1 end
        count = count + math.min(one.calls, turns)
      end
    end
    ahead[index] = count
  end
end

if not report.leaves then redis.call('HSET', KEYS[2], report.process, cjson.encode(mine)) end
redis.call('HSET', KEYS[1], 'at', number(at), 'requests', number(requests), 'tokens', number(tokens), 'rate', number(rate), 'top', number(top),
  'cutAt', number(cutAt), 'holdUntil', number(holdUntil), 'headerRequests', number(headerRequests), 'headerTokens', number(headerTokens),
  'callMs', number(callMs))
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 3600000) end
return cjson.encode({
  granted = granted, lent = lent, holdMs = math.max(0, math.ceil(holdUntil - now)),
  rates = { number(perMinute), number(tokensPerMinute) }, workers = math.max(1, workers), allWaiting = allWaiting,
  nextMs = math.ceil(nextMs), permitMs = number(permitMs), varies = permitMs > requestMs, ahead = ahead
})
`;

/** The keys of an account, in the order of the script. */
export const ACCOUNT_KEYS = ['state', 'workers', 'served', 'served-at', 'placed', 'placed-by', 'places', 'place-of'] as const;

const SHA = createHash('sha1').update(GRANT_SCRIPT).digest('hex');
/** The time after which a report counts as unanswered: no call waits longer for Redis. */
const ANSWER_MS = 1_000;

/** The most calls of which a process remembers what Redis has missed. */
const MOST_MISSED = 10_000;

/** The account of one provider in Redis. */
interface RedisAccount {
  connection: Pick<RedisConnection, 'ready' | 'isReady' | 'answers' | 'problem' | 'send'>;
  /** The prefix of its keys. The part in braces keeps them on one node of a cluster. */
  prefix: string;
  provider: string;
  limits: KeptLimits;
  /** Called when the process starts to work without Redis, with the reason and the number of workers, and when Redis is used again. */
  onAlone: (reason: string, workers: number) => void;
  onBack: () => void;
}

/**
 * The shared account of all workers in Redis. While it cannot be reached, each process uses its share of the limits: no call waits for
 * Redis.
 */
export class RedisLedger implements Ledger {
  readonly tickMs = 100;
  readonly gatherMs = 5;
  readonly #account: RedisAccount;
  readonly #keys: string[];
  readonly #limits: string;
  #workers = 1;
  #hasBegun = false;
  #alone: MemoryLedger | undefined;
  /** What Redis has missed about the places of calls: a call that is gone, or a parked one. */
  readonly #missed = new Map<string, ParkedCall | 'gone'>();

  constructor(account: RedisAccount) {
    const { prefix, provider, limits } = account;
    const { requestsPerMinute, tokensPerMinute, concurrency } = limits;
    this.#account = account;
    this.#limits = JSON.stringify({ requestsPerMinute, tokensPerMinute, concurrency });
    this.#keys = ACCOUNT_KEYS.map((part) => `${prefix}:governor:{${provider}}:${part}`);
  }

  async exchange(report: LedgerReport): Promise<LedgerAnswer> {
    const { connection, onBack } = this.#account;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      // The connection is opened with the first call.
      await connection.ready(AbortSignal.timeout(ANSWER_MS));
    }
    if (!connection.isReady || !connection.answers) return this.#exchangeAlone(report, connection.problem.message);
    try {
      // Other processes may have used the accumulated permits meanwhile.
      const told = this.#alone === undefined ? report : this.#catchUp(report);
      const answer = await inTime(this.#run(told));
      this.#workers = answer.workers;
      if (this.#alone !== undefined) {
        this.#alone = undefined;
        this.#missed.clear();
        onBack();
      }
      return answer;
    } catch (error) {
      return this.#exchangeAlone(report, errorMessage(error));
    }
  }

  async #run(report: LedgerReport): Promise<LedgerAnswer> {
    return runGrantScript((args) => this.#account.connection.send(args), this.#keys, { report, limits: this.#limits });
  }

  #catchUp(report: LedgerReport): LedgerReport {
    const gone = [...this.#missed].flatMap(([call, place]) => (place === 'gone' ? [call] : []));
    const parked = [...this.#missed.values()].filter((place) => place !== 'gone');
    return { ...report, gone: [...gone, ...report.gone], parked: [...parked, ...report.parked], isAfresh: true };
  }

  #exchangeAlone(report: LedgerReport, reason: string): LedgerAnswer {
    const isFirst = this.#alone === undefined;
    this.#alone ??= new MemoryLedger(partOf(this.#account.limits, this.#workers));
    if (isFirst) this.#account.onAlone(reason, this.#workers);
    for (const call of report.gone) this.#missed.set(call, 'gone');
    for (const call of report.parked) this.#missed.set(call.call, call);
    if (this.#missed.size > MOST_MISSED) this.#missed.clear();
    return this.#alone.exchangeNow(isFirst ? { ...report, isAfresh: true } : report);
  }
}

/** Settles like the answer, or rejects if it is late. A process that was busy first checks whether it has arrived meanwhile. */
async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const stop = new AbortController();
  const late = async (): Promise<never> => {
    await sleep(ANSWER_MS, undefined, { signal: stop.signal });
    await nextTurn();
    await nextTurn();
    throw new Error(`no answer for ${ANSWER_MS} ms`);
  };
  const waiting = late();
  waiting.catch(() => undefined);
  try {
    return await Promise.race([answer, waiting]);
  } finally {
    stop.abort();
  }
}

/** Returns the share of the limits that one of several workers may use on its own. */
function partOf({ requestsPerMinute, tokensPerMinute, concurrency }: KeptLimits, workers: number): KeptLimits {
  return {
    requestsPerMinute: requestsPerMinute / workers,
    tokensPerMinute: tokensPerMinute / workers,
    concurrency: Math.max(1, Math.floor(concurrency / workers)),
  };
}

interface ScriptInput {
  report: LedgerReport;
  /** The limits as JSON. */
  limits: string;
  /** Milliseconds, for tests. Absent: the clock of Redis. */
  now?: number;
}

/** Runs the script in Redis. Its text is sent once. */
export async function runGrantScript(
  send: (args: string[]) => Promise<unknown>,
  keys: readonly string[],
  { report, limits, now }: ScriptInput,
): Promise<LedgerAnswer> {
  const rest = [String(keys.length), ...keys, JSON.stringify(report), limits, now === undefined ? '' : String(now)];
  const reply = await send(['EVALSHA', SHA, ...rest]).catch((error: unknown) => {
    if (!errorMessage(error).startsWith('NOSCRIPT')) throw error;
    return send(['EVAL', GRANT_SCRIPT, ...rest]);
  });
  return readAnswer(JSON.parse(String(reply)));
}

/** Reads the answer of the script. It writes an empty list like an empty object. */
function readAnswer(reply: unknown): LedgerAnswer {
  if (!isJsonObject(reply)) throw new Error('the script of the governor has answered something else');
  const list = (name: string): number[] => {
    const value = reply[name];
    return Array.isArray(value) ? value.map(Number) : [];
  };
  const [requestsPerMinute = 0, tokensPerMinute = 0] = list('rates');
  return {
    granted: list('granted'),
    lent: Number(reply['lent']),
    holdMs: Number(reply['holdMs']),
    requestsPerMinute,
    tokensPerMinute,
    workers: Number(reply['workers']),
    allWaiting: Number(reply['allWaiting']),
    nextMs: Number(reply['nextMs']),
    permitMs: Number(reply['permitMs']),
    varies: reply['varies'] === true,
    ahead: list('ahead'),
  };
}
