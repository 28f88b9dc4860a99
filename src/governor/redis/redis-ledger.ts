import { createHash } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../core/domain/errors.ts';
import { isJsonObject } from '../../core/domain/json.ts';
import type { RedisConnection } from '../../streams/redis/redis-connection.ts';
import type { Ledger, LedgerAnswer, LedgerReport } from '../ledger.ts';
import { type KeptLimits, MemoryLedger } from '../memory-ledger.ts';
import { GRANT_SCRIPT } from './grant-script.ts';

const SHA = createHash('sha1').update(GRANT_SCRIPT).digest('hex');
/** The time after which a report counts as unanswered: no call waits longer for Redis. */
const ANSWER_MS = 1_000;

/** The account of one provider in Redis. */
interface RedisAccount {
  connection: RedisConnection;
  /** The beginning of its keys. The part in braces keeps them on one node of a cluster. */
  prefix: string;
  provider: string;
  limits: KeptLimits;
  /** Called when the process begins to reckon by itself, with the reason and its part of the limits, and when Redis is used again. */
  onAlone: (reason: string, workers: number) => void;
  onBack: () => void;
}

/**
 * The common account of all workers in Redis. While it cannot be reached, each process takes its part of the limits: no call waits for
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

  constructor(account: RedisAccount) {
    const { prefix, provider, limits } = account;
    const { requestsPerMinute, tokensPerMinute, concurrency } = limits;
    this.#account = account;
    this.#limits = JSON.stringify({ requestsPerMinute, tokensPerMinute, concurrency });
    const parts = ['state', 'workers', 'served', 'served-at', 'parked', 'parked-by'];
    this.#keys = parts.map((part) => `${prefix}:governor:{${provider}}:${part}`);
  }

  async exchange(report: LedgerReport): Promise<LedgerAnswer> {
    const { connection, onBack } = this.#account;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      // It is opened with the first call.
      await connection.ready(AbortSignal.timeout(ANSWER_MS));
    }
    if (!connection.isReady || !connection.answers) return this.#exchangeAlone(report, connection.problem.message);
    try {
      // Others may have used what was saved up meanwhile.
      const told = this.#alone === undefined ? report : { ...report, isAfresh: true };
      const answer = await inTime(this.#run(told));
      this.#workers = answer.workers;
      if (this.#alone !== undefined) {
        this.#alone = undefined;
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

  #exchangeAlone(report: LedgerReport, reason: string): LedgerAnswer {
    const isFirst = this.#alone === undefined;
    this.#alone ??= new MemoryLedger(partOf(this.#account.limits, this.#workers));
    if (isFirst) this.#account.onAlone(reason, this.#workers);
    return this.#alone.exchangeNow(isFirst ? { ...report, isAfresh: true } : report);
  }
}

/** Settles like the answer, or rejects if it does not come in time. A process that was busy looks first if it has come meanwhile. */
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

/** Returns the part of the limits that one of several workers may use without the others. */
function partOf({ requestsPerMinute, tokensPerMinute, concurrency }: KeptLimits, workers: number): KeptLimits {
  return {
    requestsPerMinute: requestsPerMinute / workers,
    tokensPerMinute: tokensPerMinute / workers,
    concurrency: Math.max(1, Math.floor(concurrency / workers)),
  };
}

/** What the script is given. */
interface ScriptInput {
  report: LedgerReport;
  /** The limits as JSON. */
  limits: string;
  /** Milliseconds, for tests. Absent: the clock of Redis. */
  now?: number;
}

/** Runs the script in a Redis, which is sent the text of it once. */
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
  return readAnswer(JSON.parse(String(reply)), report);
}

/** Reads the answer of the script. It writes an empty list like an empty object. */
function readAnswer(reply: unknown, { waiting }: LedgerReport): LedgerAnswer {
  if (!isJsonObject(reply)) throw new Error('the script of the governor has answered something else');
  const list = (name: string): number[] => {
    const value = reply[name];
    return Array.isArray(value) ? value.map(Number) : [];
  };
  const [requestsPerMinute = 0, tokensPerMinute = 0] = list('rates');
  const byTenant = (name: string): Record<string, number> => {
    const counts = list(name);
    return Object.fromEntries(waiting.map(({ tenant }, index) => [tenant, counts[index] ?? 0]));
  };
  return {
    granted: list('granted'),
    lent: Number(reply['lent']),
    holdMs: Number(reply['holdMs']),
    requestsPerMinute,
    tokensPerMinute,
    workers: Number(reply['workers']),
    tenants: Number(reply['tenants']),
    waiting: byTenant('waiting'),
    parked: byTenant('parked'),
    allWaiting: Number(reply['allWaiting']),
    allParked: Number(reply['allParked']),
  };
}
