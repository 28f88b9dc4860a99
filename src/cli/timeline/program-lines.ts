import { decider } from '../../core/domain/approvals.ts';
import { type ContentItem, outputText } from '../../core/domain/content.ts';
import { counted, printableLine } from '../../core/domain/text.ts';
import { resultText } from '../../core/domain/tool-calls.ts';
import type { Output } from '../output.ts';
import { decisionText } from '../render/decision-text.ts';
import { attemptProblems, endReason, STATUS_LOOKS } from '../render/note-text.ts';
import { resultLines, shownLine } from '../render/shown-text.ts';
import type { EndOf, ProgramItem, StepItem, StepPart } from './program-timeline.ts';
import { eventLine } from './timeline-lines.ts';

/** The executions of one step that are shown even if nothing went wrong in them. */
const SHOWN_EXECUTIONS = 10;

type Look = Pick<Output, 'look'>;

/** Returns the timeline of a program for people: a paragraph for each unit, with its steps, attempts, violations and durations. */
export function programLines(
  items: readonly ProgramItem[],
  output: Look,
  { waiting = new Set(), isOver, full = false }: ProgramLook,
): string[] {
  const look = { output, waiting, isOver, full };
  return items.flatMap((item, index) => {
    if (item.type === 'event') return [...(items[index - 1]?.type === 'event' ? [] : ['']), eventLine(item.event, output, full)];
    const head = `${output.look('bold', `Unit ${printableLine(item.name)}`)} ${endText(item.end, look)}`;
    return ['', head, ...stepsLines(item.steps, look)];
  });
}

/** The facts about a run that its events do not tell. */
interface ProgramLook {
  /** Ids of calls that wait for a decision. */
  waiting?: ReadonlySet<string>;
  /** True if the run has ended, so that nothing in it runs any more. */
  isOver: boolean;
  /** All of each text, instead of its beginning. */
  full?: boolean;
}

type Context = Required<ProgramLook> & { output: Look };

function stepsLines(steps: readonly StepItem[], look: Context): string[] {
  const { output, full } = look;
  const printed = new Map<string, number>();
  const left = new Map<string, number>();
  const lines: string[] = [];
  for (const step of steps) {
    const [name = ''] = step.name.split('[');
    const count = printed.get(name) ?? 0;
    if (!full && count >= SHOWN_EXECUTIONS && isPlain(step)) left.set(name, (left.get(name) ?? 0) + 1);
    else {
      printed.set(name, count + 1);
      lines.push(...stepLines(step, look));
    }
  }
  return [
    ...lines,
    ...[...left].map(([name, count]) => `  ${output.look('dim', `and ${count} more of ${printableLine(name)}, completed`)}`),
  ];
}

/** True for an execution that completed in its first attempt. */
function isPlain({ attempts, end }: StepItem): boolean {
  return end?.status === 'completed' && attempts <= 1;
}

function stepLines(step: StepItem, look: Context): string[] {
  const { output } = look;
  const indent = '  '.repeat(step.name.split('[').length);
  const facts = [
    step.kind,
    ...(step.attempts > 1 ? [counted(step.attempts, 'attempt')] : []),
    ...(step.tokens > 0 ? [counted(step.tokens, 'token')] : []),
  ];
  return [
    `${indent}${output.look('bold', printableLine(step.name))} ${output.look('dim', `· ${facts.join(' · ')}`)} ${endText(step.end, look)}`,
    ...step.parts.flatMap((part) => partLines(part, look)).map((line) => `${indent}  ${line}`),
  ];
}

/** Returns how a unit or a step ended: ` · completed in 0.55s`. */
function endText(end: EndOf | undefined, { output, isOver, full }: Context): string {
  if (end === undefined)
    return `${output.look('dim', '·')} ${isOver ? output.look('yellow', 'not finished') : output.look('cyan', 'running')}`;
  const { status = 'completed', seconds, reused } = end;
  const reason = endReason(end);
  const took = status === 'skipped' ? '' : ` in ${seconds.toFixed(2)}s`;
  const text = `${output.look(STATUS_LOOKS[status], status)}${took}${reused ? ', as in an earlier run' : ''}`;
  return `${output.look('dim', '·')} ${text}${reason === undefined ? '' : `: ${shownLine(reason, full)}`}`;
}

/** Returns the lines of a part. An attempt other than the first begins with its number. */
function partLines(part: StepPart, { output, waiting, full }: Context): string[] {
  if (part.type === 'decision') {
    const { decision } = part;
    const text = shownLine(decisionText(decision, `by ${decider(decision)}`), full);
    return [decision.type === 'reject' ? `✗ ${output.look('red', text)}` : `✓ ${output.look('green', text)}`];
  }
  const { content, note } = part;
  const problems = attemptProblems(note);
  const look = note.error === undefined ? 'yellow' : 'red';
  const child = note.type === 'start' ? note.child : undefined;
  const lines = [
    ...(child === undefined ? [] : [`→ run ${output.look('cyan', printableLine(child))}`]),
    ...content.flatMap((item) => itemLines(item, { output, waiting, full })),
    ...problems.map((problem) => `${note.error === undefined ? '!' : '✗'} ${output.look(look, shownLine(problem, full))}`),
  ];
  return part.begins === undefined ? lines : [output.look('dim', `attempt ${part.begins}`), ...lines];
}

function itemLines(item: ContentItem, { output, waiting, full }: Omit<Context, 'isOver'>): string[] {
  switch (item.type) {
    case 'message':
      return [shownLine(outputText(item.content), full)];
    case 'tool_call':
      return [
        `→ ${output.look('cyan', printableLine(item.name))} ${shownLine(JSON.stringify(item.arguments), full)}`,
        ...(waiting.has(item.toolCallId) ? [`… ${output.look('yellow', 'waits for a decision')}`] : []),
      ];
    case 'tool_result':
      return resultLines({ text: resultText(item.content), isError: item.status === 'error', full }, output);
  }
}
