import { DatabaseSync } from 'node:sqlite';
import { KILLED } from '../points/points.ts';

/** One call of a tool, for the ledger. */
export interface Act {
  runId: string;
  /** The subject of the call, which is unique in a run. */
  effect: string;
  /** The idempotency key of the call. */
  key: string;
}

/** A model call in the ledger. */
export interface Ask {
  /** The point where the run has read the answer. */
  told: string;
  /** The number of times that the provider was called for it. */
  times: number;
  /** True: it had begun when a process was killed, and the run had not read the answer. */
  inFlight: boolean;
}

/** An effect in the ledger. */
export interface Effect {
  effect: string;
  key: string;
  /** The number of times that a tool was called for it. */
  acts: number;
}

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS effects (run_id TEXT NOT NULL, effect TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (key, effect)) STRICT;
  CREATE TABLE IF NOT EXISTS acts (key TEXT NOT NULL, effect TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS asks (run_id TEXT NOT NULL, told TEXT NOT NULL, is_before_kill INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS points (run_id TEXT NOT NULL, point TEXT NOT NULL, UNIQUE (run_id, point)) STRICT;
`;

/** Workers of all testbeds write into one file. */
const BUSY_MS = 10_000;

/**
 * The store for the effects of tools: a table that accepts an effect once for each idempotency key, as a real service should.
 * Committed data outlives the process that wrote it.
 */
export class Ledger {
  /** The path of the file. */
  readonly path: string;
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.path = path;
    this.#database = new DatabaseSync(path, { timeout: BUSY_MS });
    this.#database.exec(TABLES);
  }

  /** Records the effect, unless it was recorded with this key before. Every call is counted. */
  act({ runId, effect, key }: Act): void {
    this.#atOnce(() => {
      this.#database.prepare('INSERT INTO acts (key, effect) VALUES (?, ?)').run(key, effect);
      this.#database.prepare('INSERT INTO effects (run_id, effect, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING').run(runId, effect, key);
    });
  }

  /** Returns true if an effect was recorded with this key. */
  has(key: string): boolean {
    return this.#database.prepare('SELECT 1 FROM effects WHERE key = ?').get(key) !== undefined;
  }

  /** All effects of a run, in order. */
  effects(runId: string): Effect[] {
    const rows = this.#database
      .prepare(
        `SELECT effect, key, (SELECT count(*) FROM acts WHERE acts.key = effects.key AND acts.effect = effects.effect) AS acts
         FROM effects WHERE run_id = ? ORDER BY rowid`,
      )
      .all(runId);
    return rows.map(({ effect, key, acts }) => ({ effect: String(effect), key: String(key), acts: Number(acts) }));
  }

  /** Records a call of a provider. */
  ask(runId: string, told: string): void {
    this.#database
      .prepare('INSERT INTO asks VALUES (?, ?, NOT EXISTS (SELECT 1 FROM points WHERE run_id = ? AND point = ?))')
      .run(runId, told, runId, KILLED);
  }

  /** All model calls of a run. */
  asks(runId: string): Ask[] {
    const rows = this.#database
      .prepare('SELECT told, count(*) AS times, max(is_before_kill) AS begun FROM asks WHERE run_id = ? GROUP BY told ORDER BY told')
      .all(runId);
    const points = this.points(runId);
    const untilKill = points.includes(KILLED) ? points.slice(0, points.indexOf(KILLED)) : points;
    return rows.map(({ told, times, begun }) => ({
      told: String(told),
      times: Number(times),
      inFlight: begun === 1 && !untilKill.includes(String(told)),
    }));
  }

  /** Records that a run has reached a point. */
  reached(runId: string, point: string): void {
    this.#database.prepare('INSERT INTO points (run_id, point) VALUES (?, ?) ON CONFLICT DO NOTHING').run(runId, point);
  }

  /** The points that a run has reached, in order of the first time. */
  points(runId: string): string[] {
    const rows = this.#database.prepare('SELECT point FROM points WHERE run_id = ? ORDER BY rowid').all(runId);
    return rows.map(({ point }) => String(point));
  }

  close(): void {
    this.#database.close();
  }

  #atOnce(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
