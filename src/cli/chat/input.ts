import { type RunHandle, sendDecision } from '../../client/run-handle.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { errorCode, errorMessage } from '../../core/domain/errors.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue, parsedJson } from '../../core/domain/json.ts';
import { printable } from '../../core/domain/text.ts';
import { osUser } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { approvalLines } from '../render/approvals.ts';

/** The waiting run, and the terminal that asks for its decisions. */
export interface AskedOn {
  io: CommandIo;
  flags: ServerFlags;
  run: Pick<RunHandle, 'runId' | 'approve' | 'reject' | 'respond'>;
  lines: Pick<Lines, 'ask'>;
  /** Aborted when the turn is interrupted. */
  signal: AbortSignal;
}

/**
 * Shows a pending call and asks for the decision on it, until there is one. `decided`: also if another approver was first, or
 * if the turn was interrupted meanwhile. `end` and `interrupt`: the person wants to leave, or to interrupt the turn instead.
 */
export async function askDecision(on: AskedOn, waiting: ApprovalView): Promise<'decided' | 'interrupt' | 'end'> {
  const { io, flags, run, lines, signal } = on;
  for (const line of approvalLines(waiting, { output: io.output, runId: run.runId, flags, inPlace: true })) io.output.print(`  ${line}`);
  let prompt = decisionPrompt(waiting);
  let read = (line: string): EnteredDecision => readDecision(line, waiting);
  for (;;) {
    const reaction = await lines.ask(`  ${io.output.look('yellow', prompt)}`, { fresh: true });
    if (reaction.type !== 'line') return reaction.type;
    if (readLine(reaction.text).type === 'exit') return 'end';
    const decision = read(reaction.text);
    [prompt, read] = [decisionPrompt(waiting), (line) => readDecision(line, waiting)];
    if (decision.type === 'edit') [prompt, read] = ['The arguments as JSON: ', readArguments];
    else if (decision.type === 'unclear') io.output.note(`  ${decision.say}`);
    else if ((await decide(on, waiting, decision)) || signal.aborted) return 'decided';
  }
}

/** Sends a decision. False if the run refuses it and the call still waits. */
async function decide(
  { io, run }: AskedOn,
  waiting: ApprovalView,
  decision: Extract<EnteredDecision, { type: 'approve' | 'reject' | 'respond' }>,
): Promise<boolean> {
  try {
    await sendDecision(run, waiting, decision, defined({ by: osUser() }));
    return true;
  } catch (error) {
    const code = errorCode(error);
    io.output.note(`  ${printable(errorMessage(error))}`);
    if (code === 'already_decided' || code === 'unknown_call') return true;
    if (code === 'invalid_arguments' || code === 'invalid_input' || code === 'not_authorized') return false;
    throw error;
  }
}

/** An entered decision: about the call, or about how to continue asking. */
export type EnteredDecision =
  | { type: 'approve'; arguments?: JsonObject }
  | { type: 'reject'; reason?: string }
  | { type: 'respond'; content: JsonValue }
  | { type: 'edit' }
  | { type: 'unclear'; say: string };

/** Returns the question about a pending call, as a prompt. */
function decisionPrompt({ kind }: Pick<ApprovalView, 'kind'>): string {
  switch (kind) {
    case 'question':
      return 'Your answer: ';
    case 'outcome':
      return 'What has become of the call? (n and a reason: give it up) ';
    case 'limit':
      return 'Raise the limit? (y, n, n and a reason, e to edit) ';
    case 'tool':
      return 'Run it? (y, n, n and a reason, e to edit) ';
  }
}

/** Returns the decision that a line means. Only an explicit yes approves a call. */
export function readDecision(line: string, { kind, answer }: Pick<ApprovalView, 'kind' | 'answer'>): EnteredDecision {
  const text = line.trim();
  if (kind === 'question') return readAnswer(text, answer);
  const [, no, reason = ''] = /^(n|no)(?:[\s,:]+(.+))?$/i.exec(text) ?? [];
  if (no !== undefined) return reason === '' ? { type: 'reject' } : { type: 'reject', reason };
  if (kind === 'outcome')
    return text === '' ? { type: 'unclear', say: 'Write the result that the model is to read.' } : { type: 'respond', content: text };
  if (/^(y|yes)$/i.test(text)) return { type: 'approve' };
  if (/^(e|edit)$/i.test(text)) return { type: 'edit' };
  return { type: 'unclear', say: 'Write y to run it, n or n and a reason to reject it, or e to edit its arguments.' };
}

/** Returns the answer to a question: text, or JSON if the schema of the answer says so. */
function readAnswer(text: string, schema: JsonObject | undefined): EnteredDecision {
  if (text === '') return { type: 'unclear', say: 'Write an answer.' };
  const type = schema?.['type'];
  if (type === undefined || type === 'string') return { type: 'respond', content: text };
  const value = parsedJson(text);
  return value === undefined
    ? { type: 'unclear', say: `Write the answer as JSON of type ${JSON.stringify(type)}.` }
    : { type: 'respond', content: value };
}

/** Returns the decision for arguments that were entered as JSON. */
export function readArguments(line: string): EnteredDecision {
  const value = parsedJson(line);
  if (isJsonObject(value)) return { type: 'approve', arguments: value };
  return { type: 'unclear', say: 'That is not a JSON object: the call still waits.' };
}

/** The reaction to a prompt: a line, Ctrl-C, or the end of the input (Ctrl-D). */
export type Reaction = { type: 'line'; text: string } | { type: 'interrupt' } | { type: 'end' };

/** The lines that a person enters. */
export interface Lines {
  /**
   * Shows a prompt and waits for a line. A line that was entered earlier counts, unless `fresh`: a decision must not be taken by input
   * from before the question. Ctrl-C discards a begun line, but at a fresh prompt it is the reaction at once.
   */
  ask(prompt: string, options?: { fresh?: boolean }): Promise<Reaction>;
  /** Calls the listener at each Ctrl-C, and at the end of the input, while no prompt is shown. There is one listener. */
  onInterruption(listener: (by: 'interrupt' | 'end') => void): void;
  close(): void;
}

/** The meaning of a line that was entered at the prompt of a chat. */
export type EnteredLine =
  | { type: 'nothing' }
  | { type: 'message'; text: string }
  | { type: 'help' }
  | { type: 'status' }
  | { type: 'exit' }
  | { type: 'unknown'; command: string };

/** The commands of a chat, for `/help`. */
export const CHAT_HELP: readonly string[] = [
  '/help     shows this help',
  '/status   shows the turns of the session, and what they have used of its limits',
  '/exit     leaves; the session stays. So do Ctrl-D, and Ctrl-C at an empty prompt',
  'Ctrl-C    while the agent works or asks: interrupts the turn; a second time: leaves',
  'Every other line is a message. To send one that is a slash and a word, write a space before it.',
];

/** Returns what a line means. A command is a slash and a word, and nothing else. */
export function readLine(line: string): EnteredLine {
  const text = line.trim();
  if (text === '') return { type: 'nothing' };
  const [, word] = /^\/(\S*)\s*$/.exec(line) ?? [];
  switch (word) {
    case undefined:
      return { type: 'message', text };
    case 'help':
    case 'status':
    case 'exit':
      return { type: word };
    default:
      return { type: 'unknown', command: text };
  }
}

/** Handles Ctrl-C in a chat: the first one during a turn interrupts the turn, and any other leaves. */
export class Interruptions {
  /** Resolves once the person leaves. Never rejects. */
  readonly left: Promise<'left'>;
  /** True once the person has left. */
  hasLeft = false;
  #resolveLeft: (left: 'left') => void = () => undefined;
  /** Interrupts the turn in progress. Undefined without a turn, and once it was interrupted. */
  #interrupt: (() => void) | undefined;

  constructor(lines: Pick<Lines, 'onInterruption'>) {
    this.left = new Promise((resolve) => (this.#resolveLeft = resolve));
    lines.onInterruption((by) => (by === 'end' ? this.#leave() : this.press()));
  }

  /** Sets what the next Ctrl-C does during a turn; undefined after it. */
  set interrupt(interrupt: (() => void) | undefined) {
    this.#interrupt = interrupt;
  }

  /** Counts a Ctrl-C. */
  press(): void {
    const interrupt = this.#interrupt;
    this.#interrupt = undefined;
    if (interrupt === undefined) this.#leave();
    else interrupt();
  }

  #leave(): void {
    this.hasLeft = true;
    this.#resolveLeft('left');
  }
}
