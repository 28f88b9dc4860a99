import { decider } from '../../core/domain/approvals/approval.ts';
import type { ContentItem } from '../../core/domain/content/content.ts';
import { outputText } from '../../core/domain/content/output-text.ts';
import { printableLine } from '../../core/domain/content/printable.ts';
import { oneLine } from '../../core/domain/content/text.ts';
import { resultText } from '../../core/domain/content/tool-text.ts';
import type { Output } from '../output.ts';
import { decisionText } from '../render/decision-text.ts';
import { counted } from '../render/facts.ts';
import { attemptProblems, endReason, STATUS_LOOKS } from '../render/note-text.ts';
import type { EndOf, ProgramItem, StepItem, StepPart } from './program-timeline.ts';
import { eventLine } from './timeline-lines.ts';

/** The bytes of an answer, arguments or a result that a line shows; `longhaul events` shows all. */
const SHOWN_BYTES = 300;

/** The executions of one step that are shown even if nothing went wrong in them. */
const SHOWN_EXECUTIONS = 10;

type Look = Pick<Output, 'look'>;

/** Returns the timeline of a program for people: a paragraph for each unit, with its steps, attempts, violations and durations. */
export function programLines(items: readonly ProgramItem[], output: Look, waiting: ReadonlySet<string> = new Set()): string[] {
  return items.flatMap((item, index) => {
    if (item.type === 'event') return [...(items[index - 1]?.type === 'event' ? [] : ['']), eventLine(item.event, output)];
    const head = `${output.look('bold', `Unit ${printableLine(item.name)}`)} ${endText(item.end, output)}`;
    return ['', head, ...stepsLines(item.steps, output, waiting)];
  });
}

function stepsLines(steps: readonly StepItem[], output: Look, waiting: ReadonlySet<string>): string[] {
  const shown = new Map<string, number>();
  const left = new Map<string, number>();
  const lines: string[] = [];
  for (const step of steps) {
    const [name = ''] = step.name.split('[');
    const count = shown.get(name) ?? 0;
    if (count >= SHOWN_EXECUTIONS && isPlain(step)) left.set(name, (left.get(name) ?? 0) + 1);
    else {
      shown.set(name, count + 1);
      lines.push(...stepLines(step, output, waiting));
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

function stepLines(step: StepItem, output: Look, waiting: ReadonlySet<string>): string[] {
  const indent = '  '.repeat(step.name.split('[').length);
  const facts = [
    step.kind,
    ...(step.attempts > 1 ? [counted(step.attempts, 'attempt')] : []),
    ...(step.tokens > 0 ? [counted(step.tokens, 'token')] : []),
  ];
  return [
    `${indent}${output.look('bold', printableLine(step.name))} ${output.look('dim', `· ${facts.join(' · ')}`)} ${endText(step.end, output)}`,
    ...step.parts.flatMap((part) => partLines(part, output, waiting)).map((line) => `${indent}  ${line}`),
  ];
}

/** Returns how a unit or a step ended: ` · completed in 0.55s`. */
function endText(end: EndOf | undefined, output: Look): string {
  if (end === undefined) return `${output.look('dim', '·')} ${output.look('cyan', 'running')}`;
  const { status = 'completed', seconds, reused } = end;
  const reason = endReason(end);
  const took = status === 'skipped' ? '' : ` in ${seconds.toFixed(2)}s`;
  const text = `${output.look(STATUS_LOOKS[status], status)}${took}${reused ? ', as in an earlier run' : ''}`;
  return `${output.look('dim', '·')} ${text}${reason === undefined ? '' : `: ${shown(reason)}`}`;
}

function partLines(part: StepPart, output: Look, waiting: ReadonlySet<string>): string[] {
  if (part.type === 'decision') {
    const { decision } = part;
    const text = shown(decisionText(decision, `by ${decider(decision)}`));
    return [decision.type === 'reject' ? `✗ ${output.look('red', text)}` : `✓ ${output.look('green', text)}`];
  }
  const { content, note } = part;
  const problems = attemptProblems(note);
  const look = note.error === undefined ? 'yellow' : 'red';
  const number = note.type === 'attempt' && (note.attempt ?? 1) > 1 ? `${output.look('dim', `attempt ${note.attempt}`)} ` : '';
  return [
    ...content.flatMap((item) => itemLines(item, output, waiting)).map((line, index) => (index === 0 ? `${number}${line}` : line)),
    ...problems.map((problem) => `${note.error === undefined ? '!' : '✗'} ${output.look(look, shown(problem))}`),
  ];
}

function itemLines(item: ContentItem, output: Look, waiting: ReadonlySet<string>): string[] {
  switch (item.type) {
    case 'message':
      return [shown(outputText(item.content))];
    case 'tool_call':
      return [
        `→ ${output.look('cyan', printableLine(item.name))} ${shown(JSON.stringify(item.arguments))}`,
        ...(waiting.has(item.toolCallId) ? [`… ${output.look('yellow', 'waits for a decision')}`] : []),
      ];
    case 'tool_result': {
      const text = shown(resultText(item.content));
      return [`← ${item.status === 'error' ? output.look('red', `error: ${text}`) : text}`];
    }
  }
}

function shown(text: string): string {
  return printableLine(oneLine(text, SHOWN_BYTES));
}
