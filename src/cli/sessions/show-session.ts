import { printableLine, shellCommand } from '../../core/domain/text.ts';
import { isTerminal } from '../../core/domain/run.ts';
import type { SessionView } from '../../core/domain/sessions.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { StatusView } from '../../core/protocol.ts';
import type { Output } from '../output.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';
import { approvalLines } from '../render/approval-lines.ts';
import { sessionFacts } from '../render/session-facts.ts';
import { withRun } from '../with-run.ts';
import { type Exchange, exchangeLines, newestExchanges } from './exchanges.ts';
import { raiseHint } from './raise-hint.ts';

/** The options of `longhaul session show`. */
export interface ShowSessionFlags extends ServerFlags {
  sessionId: string;
  /** The number of newest turns to show. */
  last: number;
}

/** Prints a session: its title, agent, status and turns, its limits and what is used of them, what waits, and its newest turns. */
export async function showSession(io: CommandIo, { sessionId: given, last, ...flags }: ShowSessionFlags): Promise<number> {
  const { output } = io;
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const run = client.handle(sessionId);
    const status = await run.status();
    const { session } = status;
    if (session === undefined)
      throw new UsageError(`Run "${sessionId}" is no session, or has not begun: ${shown('show', sessionId, flags, output)} shows a run`);
    const [exchanges, approvals] = await Promise.all([
      newestExchanges(run, { events: status.events, count: last }),
      isTerminal(status.status) ? undefined : run.approvals(),
    ]);
    const { pending = [] } = approvals ?? {};
    if (output.json) {
      output.printJson({
        version: 1,
        sessionId,
        agentName: status.agentName,
        status: status.status,
        startTime: status.startTime,
        ...session,
        pending,
        exchanges,
      });
      return 0;
    }
    for (const line of factLines({ ...status, session }, output)) output.print(line);
    const hint = isTerminal(status.status) ? undefined : raiseHint(sessionId, session, flags, output.program);
    if (hint !== undefined) output.print(`  ${output.look('cyan', printableLine(hint))}`);
    for (const waiting of pending)
      for (const line of ['', ...approvalLines(waiting, { output, runId: sessionId, flags })]) output.print(line);
    for (const line of turnLines(exchanges, session, output)) output.print(line);
    return 0;
  });
}

function shown(command: string, sessionId: string, flags: ServerFlags, { program }: Output): string {
  return shellCommand(command, { operands: [sessionId], options: serverOptions(flags), program });
}

/** Returns the facts of a session, one per line. */
export function factLines(
  { runId, agentName, currentAgent, status, startTime, session }: StatusView & { session: SessionView },
  output: Pick<Output, 'look'>,
): string[] {
  const facts: [string, string][] = [
    ['Session', printableLine(runId)],
    [
      'Agent',
      [agentName, ...(currentAgent === undefined || currentAgent === agentName ? [] : [currentAgent])].map(printableLine).join(' → '),
    ],
    ['Status', status],
    ...sessionFacts(session, startTime),
    ['Started', startTime],
  ];
  return facts.map(([name, value]) => `${output.look('dim', name.padEnd(9))} ${value}`);
}

function turnLines(exchanges: readonly Exchange[], { turns }: SessionView, output: Pick<Output, 'look'>): string[] {
  const first = turns - exchanges.length + 1;
  return exchanges.flatMap((exchange, index) => [
    '',
    output.look('dim', `Turn ${exchange.end?.number ?? first + index}`),
    ...exchangeLines(exchange, output),
  ]);
}
