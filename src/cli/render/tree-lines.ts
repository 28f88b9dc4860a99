import type { RunTree } from '../../client/run-tree.ts';
import { waitsText } from '../../core/domain/approvals.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import { counted, oneLine, printableLine } from '../../core/domain/text.ts';
import type { ExecutionTrace, TraceEvent, TraceEventType, TraceSpan } from '../../core/domain/trace.ts';
import { type AggregatedUsage, dollars, dollarsSpent } from '../../core/domain/usage.ts';
import type { Look, Output } from '../output.ts';

/** Returns a run with its descendants as a tree: one line for each. Ids of children are shown without the id of their parent. */
export function treeLines(tree: RunTree, output: Pick<Output, 'look'>): string[] {
  const { children, usage, treeUsage } = tree;
  const total = children.length === 0 ? [] : [`tree: ${spentText(treeUsage)}`];
  return treeNodeLines(tree, tree.runId, [spentText(usage), ...total], output);
}

function treeNodeLines(
  { children, ...run }: Omit<RunTree, 'treeUsage'>,
  shownId: string,
  spent: string[],
  output: Pick<Output, 'look'>,
): string[] {
  const { agentName, kind, runId, status, waitingFor } = run;
  const facts = [shownId, stepsText(run, kind), ...spent].map(printableLine).join(' · ');
  const waits = waitingFor.length === 0 ? '' : ` ${output.look('yellow', printableLine(`waits for ${waitsText(waitingFor)}`))}`;
  return [
    `${output.look('bold', printableLine(agentName))} ${statusLook(status, output)} ${output.look('dim', `· ${facts}`)}${waits}`,
    ...branches(children, (child) => treeNodeLines(child, child.runId.slice(runId.length + 1), [spentText(child.usage)], output), output),
  ];
}

function stepsText({ steps, limits, turns }: Pick<RunTree, 'steps' | 'limits' | 'turns'>, kind: RunTree['kind']): string {
  if (turns !== undefined) return `${counted(turns, 'turn')} · ${counted(steps, 'step')}`;
  return kind === 'program' ? counted(steps, 'model call') : `${steps}/${limits?.steps ?? 0} steps`;
}

/** Returns the tokens and the cost, including what no provider has reported. */
function spentText(usage: AggregatedUsage): string {
  const { totalTokens, estimated } = usage;
  const cost = dollarsSpent(usage);
  return [counted(totalTokens + (estimated?.totalTokens ?? 0), 'token'), ...(cost === undefined ? [] : [dollars(cost)])].join(', ');
}

const STATUS_LOOKS: Partial<Record<RunStatus, Look>> = {
  completed: 'green',
  error: 'red',
  cancelled: 'red',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  pending_confirmation: 'yellow',
};

function statusLook(status: RunStatus, output: Pick<Output, 'look'>): string {
  const name = STATUS_LOOKS[status];
  return name === undefined ? status : output.look(name, status);
}

/** The bytes of the data of an event that a line shows; `--json` shows all. */
const SHOWN_BYTES = 160;

/** Returns a trace as a tree: spans with their events and inner spans, by time. */
export function traceLines(trace: ExecutionTrace, output: Pick<Output, 'look'>): string[] {
  const { programName, backendName, durationMs, totalEvents, spans, startTime } = trace;
  const facts = [backendName, `${(durationMs / 1000).toFixed(2)}s`, counted(totalEvents, 'event')].filter((fact) => fact !== '');
  return [
    `${output.look('bold', printableLine(programName))} ${output.look('dim', `· ${facts.map(printableLine).join(' · ')}`)}`,
    ...branches(spans, (span) => spanLines(span, startTime, output), output),
  ];
}

function spanLines(span: TraceSpan, startTime: number, output: Pick<Output, 'look'>): string[] {
  const took = span.endTime === undefined ? 'open' : `${(span.endTime - span.startTime).toFixed(2)}s`;
  const parts = [
    ...span.events.map((event) => ({ at: event.timestamp, lines: () => [eventLine(event, startTime, output)] })),
    ...span.children.map((child) => ({ at: child.startTime, lines: () => spanLines(child, startTime, output) })),
  ].toSorted((one, other) => one.at - other.at);
  return [
    `${output.look('bold', printableLine(span.name))} ${output.look('dim', `· ${took}`)}`,
    ...branches(parts, ({ lines }) => lines(), output),
  ];
}

const EVENT_LOOKS: Partial<Record<TraceEventType, Look>> = {
  anchor_breach: 'red',
  validation_fail: 'red',
  retry_attempt: 'yellow',
  refine_start: 'yellow',
};

function eventLine(
  { event_type: type, timestamp, step_name: step, data }: TraceEvent,
  startTime: number,
  output: Pick<Output, 'look'>,
): string {
  const look = EVENT_LOOKS[type];
  const name = look === undefined ? type : output.look(look, type);
  const time = output.look('dim', `${Math.max(0, timestamp - startTime).toFixed(2)}s`);
  const details = data === undefined ? '' : ` ${output.look('dim', printableLine(oneLine(JSON.stringify(data), SHOWN_BYTES)))}`;
  return `${time} ${step === undefined ? '' : `${printableLine(step)} `}${name}${details}`;
}

/** Returns parts as the branches of a tree. */
function branches<Part>(parts: readonly Part[], linesOf: (part: Part) => string[], output: Pick<Output, 'look'>): string[] {
  return parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1;
    const [first = '', ...rest] = linesOf(part);
    return [
      `${output.look('dim', isLast ? '└─' : '├─')} ${first}`,
      ...rest.map((line) => (isLast ? `   ${line}` : `${output.look('dim', '│')}  ${line}`)),
    ];
  });
}
