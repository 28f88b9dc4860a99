import { errorMessage, LonghaulError } from '../../core/domain/errors.ts';

/** A connection to PostgreSQL, such as a `Pool` of the package `pg`, or PGlite. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Runs one statement, which is a transaction of its own, and returns its rows. Rejects with `memory_unavailable` if the database does. */
export type RunStatement = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Returns the statements of a pool. */
export function statementsOf(pool: PostgresPool): RunStatement {
  return async <Row>(text: string, values: unknown[] = []) => {
    try {
      return (await pool.query(text, values)).rows as Row[];
    } catch (error) {
      throw new LonghaulError('memory_unavailable', `PostgreSQL cannot be used as a memory: ${errorMessage(error)}`, { cause: error });
    }
  };
}
