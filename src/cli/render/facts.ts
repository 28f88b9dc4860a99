import type { RunLimits } from '../../core/domain/limits.ts';
import { missingText } from '../../core/domain/missing-definitions.ts';
import { DEFAULT_MODEL_CALLS } from '../../core/domain/program-document.ts';
import type { UnitResult } from '../../core/domain/program-run.ts';
import type { RunRecord } from '../../core/domain/record.ts';
import { ProgramResult, type RunResult } from '../../core/domain/result.ts';
import { eventsText, type Identity, identityText, isTerminal, type RunStatus, type RunSubject } from '../../core/domain/run.ts';
import { sessionTotals, type SessionView } from '../../core/domain/sessions.ts';
import { counted, printable, printableLine } from '../../core/domain/text.ts';
import { callsText, isCutOff, notRunTexts } from '../../core/domain/tool-calls.ts';
import { type AggregatedUsage, cachedText, costText, dollarsSpent } from '../../core/domain/usage.ts';
import { type Fact, factLines, type Look, type Output, pointInTime, visibleText } from '../output.ts';
import type { RunView } from './run-view.ts';

/** Returns the facts of a run, one per line: its status, its usage and limits, and times. */
export function runFacts(run: RunView, link: string | undefined, output: Pick<Output, 'look'>): string[] {
  const status = output.look(LOOKS[run.status], run.status);
  const more = run.stopReason === null || ['final_answer', run.status].includes(run.stopReason) ? '' : ` (${run.stopReason})`;
  const { session, startTime, limits, about } = run;
  const { tags = [], ...principal } = about;
  return factLines(
    [
      ['Run', printable(run.runId)],
      [run.units === null ? 'Agent' : 'Program', agentText(run)],
      // The timeline has what it was asked, and a session its title.
      ['For', principalText(principal)],
      ['Tags', tags.length === 0 ? undefined : printableLine(tags.join(', '))],
      ['Status', `${status}${more}`],
      ['Finish', run.finishReason !== null && isCutOff(run.finishReason) ? printable(run.finishReason) : undefined],
      ...(session === null ? ownFacts(run) : [...sessionFacts(session, startTime), ...turnFacts(run, session)]),
      ['Started', startTime ?? '?'],
      ['Duration', run.durationSeconds === null ? 'still running' : `${run.durationSeconds.toFixed(2)}s`],
      ['Deadline', session === null ? deadlineText(startTime, limits?.deadlineMs) : undefined],
      ['Queued', run.queued === 0 ? undefined : counted(run.queued, 'message')],
      ...run.postponed.map(({ toolName, until, reason }): Fact => ['Waits', printableLine(`${toolName} until ${until}: ${reason}`)]),
      ...run.missing.map((one): Fact => ['Waits', printableLine(missingText(one))]),
      ['Archive', run.archiving === null ? undefined : `takes ${eventsText(run.archiving)} since ${run.archiving.since}`],
      ...run.notArchived.map((range): Fact => ['Archive', printable(`lacks ${eventsText(range)}: ${range.message}`)]),
      ['UI', link],
    ],
    output,
  );
}

/** Returns the agent that the run began with, and the one that acts if it was handed over. */
function agentText({ agentName, currentAgent }: RunView): string {
  return [agentName, ...(currentAgent === null || currentAgent === agentName ? [] : [currentAgent])].map(printable).join(' → ') || '?';
}

/** Returns the amounts that a run has used of its limits. */
function ownFacts(run: RunView): Fact[] {
  const { usage, limits } = run;
  return [...progressFacts(run), ['Tokens', tokensText(usage, limits ?? {})], ['Cost', costText(dollarsSpent(usage), limits ?? {})]];
}

/** Returns the amounts that the newest turn of a session has used of the limits of its agent. */
function turnFacts(run: RunView, { turns, turn }: SessionView): Fact[] {
  // The result of a session that is closed has the amounts of all its turns.
  if (turns === 0 || isTerminal(run.status)) return [];
  const steps = stepsOfNewestTurn(run.records, { goesOn: turn !== undefined });
  const { usage, limits } = run;
  return [
    [`Turn ${turns}`, `${steps} of at most ${limits?.steps ?? 0} steps, with ${callFacts(run)}`],
    ['', tokensText(usage, limits ?? {})],
  ];
}

/** Returns what the run has done of what it may do. */
function progressFacts(run: RunView): Fact[] {
  const { units, stepsUsed, limits, usage } = run;
  const most = limits?.steps ?? 0;
  if (units === null) return [['Steps', `${stepsUsed} of at most ${most}, with ${callFacts(run)}`]];
  // No author has chosen the default, and a run seldom comes near it.
  const limit = most === DEFAULT_MODEL_CALLS ? undefined : most;
  return [
    ['Units', unitsText(units, { isOver: isTerminal(run.status) })],
    ['Calls', `${counted(limit === undefined ? usage.llmCalls : stepsUsed, 'model call')}${atMost(limit)}, ${callFacts(run)}`],
  ];
}

/** Returns the number of units by their status: `2 completed, 1 running`. */
function unitsText(units: readonly Pick<UnitResult, 'status'>[], run: { isOver: boolean }): string {
  const counts = new Map<string, number>();
  for (const unit of units) counts.set(unitStatus(unit, run), (counts.get(unitStatus(unit, run)) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ') || 'none has begun';
}

/** Returns the status of a unit in words. One that ran when the run ended does not run any more. */
export function unitStatus({ status }: Pick<UnitResult, 'status'>, { isOver }: { isOver: boolean }): string {
  return isOver && status === 'running' ? 'not finished' : status.replace('_', ' ');
}

const LOOKS: Record<RunStatus, Look> = {
  completed: 'green',
  running: 'cyan',
  idle: 'cyan',
  pending_confirmation: 'yellow',
  paused: 'yellow',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  cancelled: 'yellow',
  error: 'red',
};

type Limits = Partial<RunLimits>;

function callFacts({ toolCallsTotal, toolCallsNotRun, limits }: RunView): string {
  const ofTools = Object.entries(limits?.toolCallsByName ?? {}).map(([name, limit]) => `${printable(name)} at most ${limit}`);
  const notRun = notRunTexts(toolCallsNotRun, { times: ' ×', name: printable });
  const ran = `${counted(toolCallsTotal, 'tool call')}${atMost(limits?.toolCalls)}${ofTools.length === 0 ? '' : ` (${ofTools.join(', ')})`}`;
  return [ran, ...notRun].join(', ');
}

/** Returns the tokens used. Limits count estimated tokens like reported ones. */
function tokensText(usage: AggregatedUsage, limits: Limits): string {
  const { promptTokens, completionTokens, totalTokens, llmCalls, estimated } = usage;
  const cached = cachedText(usage);
  const read = `prompt ${promptTokens + (estimated?.promptTokens ?? 0)}${atMost(limits.inputTokens)}`;
  const prompt = cached === undefined ? read : `${read}, ${cached}`;
  const completion = `completion ${completionTokens + (estimated?.completionTokens ?? 0)}${atMost(limits.outputTokens)}`;
  const guessed = estimated === undefined ? '' : `; ${estimated.totalTokens} of them estimated`;
  const total = `${totalTokens + (estimated?.totalTokens ?? 0)}${atMost(limits.totalTokens)}`;
  return `${total} (${prompt}, ${completion}${guessed}) in ${counted(llmCalls, 'model call')}`;
}

function deadlineText(startTime: string | null, deadlineMs: number | null | undefined): string | undefined {
  return startTime === null || deadlineMs == null ? undefined : pointInTime(Date.parse(startTime) + deadlineMs);
}

function atMost(limit: number | undefined): string {
  return limit === undefined ? '' : ` of at most ${limit}`;
}

/** Returns the facts of a session, as names and values: its title, its turns, and the amounts of all turns against its limits. */
export function sessionFacts(session: SessionView, startTime: string | null): Fact[] {
  const { title, limits, limitReached } = session;
  return [
    ['Title', title === undefined ? undefined : printableLine(title)],
    ['Turns', turnsText(session)],
    ['Used', usedText(session)],
    ['Deadline', deadlineText(startTime, limits.deadlineMs)],
    ['Limit', limitReached === undefined ? undefined : `${limitReached.message}: messages are refused until the limit is raised`],
  ];
}

function turnsText({ turns, turn, limits, idleSince }: SessionView): string {
  const goesOn = turn === undefined ? '' : `, turn ${turn} is running`;
  const idle = turn === undefined && idleSince !== undefined ? `, the last one ended at ${pointInTime(idleSince)}` : '';
  return `${turns}${ofAtMost(limits.turns)}${goesOn}${idle}`;
}

/** Returns the amounts of all turns, with those of the descendants: limits count these. */
function usedText({ spent, limits }: SessionView): string {
  const { tokens, cost } = sessionTotals(spent);
  const costOfTurns = costText(cost === 0 ? undefined : cost, limits);
  return [
    `${tokens}${ofAtMost(limits.totalTokens)} tokens`,
    ...(costOfTurns === undefined ? [] : [costOfTurns]),
    counted(spent.stepsUsed, 'step'),
    counted(spent.toolCallsTotal, 'tool call'),
    ...notRunTexts(spent.toolCallsNotRun, { times: ' ×', name: printable }),
  ].join(', ');
}

function ofAtMost(limit: number | null): string {
  return limit === null ? '' : ` of at most ${limit}`;
}

/** Returns the number of steps of the newest turn of a session, which `goesOn` or has ended, from its records. */
export function stepsOfNewestTurn(records: readonly RunRecord[], { goesOn }: { goesOn: boolean }): number {
  let sinceTurn = 0;
  let ofTurn = 0;
  for (const record of records) {
    if (record.type === 'step') sinceTurn += 1;
    else if (record.turn !== undefined) [ofTurn, sinceTurn] = [sinceTurn, 0];
  }
  return goesOn ? sinceTurn : ofTurn;
}

/** Returns whom a run acts for as one line of a terminal. Undefined if it acts for nobody in particular. */
export function principalText(identity: Identity): string | undefined {
  const text = identityText(identity);
  return text === undefined ? undefined : visibleLine(text);
}

/** Returns for whom and for what a run acts, as names and values. Each value is one line. */
export function subjectFacts({ agentName, title, question, tags = [], ...principal }: RunSubject): Fact[] {
  return [
    ['agent', visibleLine(agentName)],
    ['for', principalText(principal)],
    ['tags', tags.length === 0 ? undefined : visibleLine(tags.join(', '))],
    ['title', title === undefined ? undefined : visibleLine(title)],
    ['asked', question === undefined ? undefined : visibleLine(question)],
  ];
}

/** Returns a text on one line, with everything in it that a terminal would hide, or show in another order. */
function visibleLine(text: string): string {
  return printableLine(visibleText(text));
}

/**
 * Returns a result as one line: `[completed] clerk | 2/10 steps | 1 tool call (look_up_order ×1), 1 refused (refund) | 30 tokens |
 * 2.50s`.
 */
export function resultLine(result: RunResult<unknown>): string {
  const { status, agentName, turns, stepsUsed, limits, usage, durationSeconds, mediaTypes } = result;
  return [
    `[${status}] ${agentName}`,
    ...(result instanceof ProgramResult
      ? [`units: ${unitsText(result.units, { isOver: true })}`, counted(usage.llmCalls, 'model call')]
      : [turns === undefined ? `${stepsUsed}/${limits.steps} steps` : `${counted(turns, 'turn')} | ${counted(stepsUsed, 'step')}`]),
    callsText(result, { times: ' ×', name: printable }),
    counted(usage.totalTokens, 'token'),
    ...(durationSeconds === null ? [] : [`${durationSeconds.toFixed(2)}s`]),
    ...(result.hasMedia ? [`media: ${mediaTypes.join('+')}`] : []),
  ].join(' | ');
}
