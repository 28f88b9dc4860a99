import { decider, type Decision } from '../../core/domain/approvals.ts';
import { RUN_CODE, type StepResult, type ToolCallRecord, verifiedText } from '../../core/domain/tool-calls.ts';
import { counted, printable, printableLine } from '../../core/domain/text.ts';
import { decisionText } from '../render/decision-text.ts';
import { resultLines, shownLine } from '../render/shown-text.ts';
import { hookLines } from './hook-lines.ts';
import type { Output } from '../output.ts';

/** The lines of code that a step shows. */
const SHOWN_LINES = 20;

/** Facts about a step that are not part of it. */
export interface StepDetails {
  /** Decisions about its calls. */
  decisions?: readonly Decision[];
  /** Ids of calls that have no result yet, if the step is not complete. */
  unanswered?: readonly string[];
  /** Ids of calls that wait for a decision. */
  waiting?: ReadonlySet<string>;
  /** All of each text, instead of its beginning. */
  full?: boolean;
}

/** Returns the lines for a step: the model's thought, its tool calls, the decisions about them, and their results. */
export function stepLines(step: StepResult, output: Pick<Output, 'look'>, details: StepDetails = {}): string[] {
  const finished = details.unanswered === undefined ? step.finishReason : 'not complete yet';
  const facts = [finished, ...(step.usage === null ? [] : [`${step.usage.totalTokens} tokens`])];
  const agent = step.agent === undefined ? '' : ` · ${printableLine(step.agent)}`;
  const title = `Step ${step.step}${agent}${step.final ? ' (final attempt)' : ''}`;
  return [
    `${output.look('bold', title)} ${output.look('dim', `· ${printable(facts.join(' · '))}`)}`,
    ...hookLines(step.hooks, output).map((line) => `  ${line}`),
    ...(step.thought === null ? [] : indented(printable(step.thought))),
    ...step.toolCalls.flatMap((call) => {
      const lines = callLines(call, output, details);
      return call.caller === 'code' ? lines.map((line) => `    ${line}`) : lines;
    }),
  ];
}

/** Returns the lines for a call: its arguments or code, the decisions about it, and its result. */
function callLines(call: ToolCallRecord, output: Pick<Output, 'look'>, details: StepDetails): string[] {
  const { code } = call.arguments;
  const version = call.toolVersion === undefined ? '' : output.look('dim', `@${call.toolVersion}`);
  const name = `${output.look('cyan', printable(call.toolName))}${version}`;
  const isCode = call.toolName === RUN_CODE && typeof code === 'string';
  return [
    ...(isCode
      ? [`  → ${name}`, ...codeLines(code, details.full)]
      : [`  → ${name} ${shownLine(JSON.stringify(call.arguments), details.full)}`]),
    ...(details.decisions ?? [])
      .filter(({ callId }) => callId === call.callId)
      .map((decision) => decisionLine(decision, output, details.full)),
    ...hookLines(call.hooks, output).map((line) => `  ${line}`),
    ...outcomeLines(call, output, details),
    ...verifiedLines(call, output),
  ];
}

function codeLines(code: string, full = false): string[] {
  const lines = printable(code.trimEnd()).split('\n');
  const shown = full ? lines : lines.slice(0, SHOWN_LINES);
  const left = lines.length - shown.length;
  return [...shown, ...(left > 0 ? [`… ${counted(left, 'more line')}: "show --full" prints all`] : [])].map((line) => `      ${line}`);
}

function decisionLine(decision: Decision, output: Pick<Output, 'look'>, full: boolean | undefined): string {
  const text = shownLine(decisionText(decision, `by ${decider(decision)}`), full);
  return decision.type === 'reject' ? `  ✗ ${output.look('red', text)}` : `  ✓ ${output.look('green', text)}`;
}

function outcomeLines(call: ToolCallRecord, output: Pick<Output, 'look'>, { unanswered = [], waiting, full }: StepDetails): string[] {
  if (waiting?.has(call.callId)) return [`  … ${output.look('yellow', 'waits for a decision')}`];
  if (unanswered.includes(call.callId)) return [`  … ${output.look('dim', 'no result yet')}`];
  const { result: text, isError, durationMs } = call;
  return resultLines({ text, isError, durationMs, ...(full === undefined ? {} : { full }) }, output).map((line) => `  ${line}`);
}

/** Returns the line that says how the outcome of a lost call was verified. */
function verifiedLines({ verified }: ToolCallRecord, output: Pick<Output, 'look'>): string[] {
  if (verified === undefined) return [];
  return [`  ✓ ${output.look('yellow', shownLine(verifiedText(verified)))}`];
}

/** Returns the lines of a text, indented. */
export function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`);
}
