// A tool that works for an hour: it reports its progress, and after a crash or a deploy the next attempt continues there.
import { defineAgent, defineTool, type RunContext } from 'longhaul';
import { z } from 'zod';

/** The `resources` of the worker: where rows come from and go to. Writing a row again changes nothing. */
export interface Warehouse {
  warehouse: {
    rows: (table: string, from: number, limit: number) => Promise<string[]>;
    write: (table: string, from: number, rows: string[]) => Promise<void>;
  };
}

const PAGE = 100;

const importTable = defineTool({
  name: 'import_table',
  description: 'Imports a table into the warehouse. Takes up to an hour.',
  parameters: z.object({ table: z.string() }),
  timeout: '1h',
  maxAttempts: 10, // a deploy or a lost worker takes one
  resources: ['warehouse'],
  execute: async ({ table }, { resources: { warehouse }, heartbeat, lastHeartbeat, signal, emit }: RunContext<object, Warehouse>) => {
    let done = (lastHeartbeat as { done?: number } | undefined)?.done ?? 0;
    for (;;) {
      signal.throwIfAborted(); // cancelled, out of time, or the worker shuts down
      const rows = await warehouse.rows(table, done, PAGE);
      if (rows.length === 0) return { table, rows: done };
      await warehouse.write(table, done, rows);
      done += rows.length;
      heartbeat({ done }); // `longhaul events --follow` and the Temporal UI show it
      emit('rows', { done }); // and so does a page that follows the stream
    }
  },
});

export const importer = defineAgent({
  name: 'importer',
  model: 'openai/gpt-5-mini',
  instructions: 'You import tables that are asked for, and say how many rows they have.',
  tools: [importTable],
});
