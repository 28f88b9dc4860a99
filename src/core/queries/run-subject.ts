import { outputText } from '../domain/content/output-text.ts';
import { oneLine } from '../domain/content/text.ts';
import type { ConversationEvent } from '../domain/model/model.ts';
import type { Principal } from '../domain/run/principal.ts';
import type { RunSubject } from '../domain/run/run-subject.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** Bytes of the question of a run: a list has many of them. */
const QUESTION_BYTES = 300;

/** The characters of a message that are looked at: it may be very large, and each query of the status asks for it. */
const READ_CHARACTERS = 2_000;

/** Returns for whom and for what a run acts, from what it has recorded. Before it has a state, its principal may be known. */
export function runSubject(agentName: string, state: RunState | undefined, given?: Principal): RunSubject {
  const { tenant, user } = (state === undefined ? given : state.principal) ?? {};
  const { tags = [] } = state?.snapshot ?? {};
  const title = state?.session?.title;
  const question = state === undefined ? '' : oneLine(questionOf(state).slice(0, READ_CHARACTERS), QUESTION_BYTES);
  return {
    agentName,
    ...(tenant === undefined ? {} : { tenant }),
    ...(user === undefined ? {} : { user }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(title === undefined ? {} : { title }),
    ...(question === '' ? {} : { question }),
  };
}

/** Returns what the user asked: of a program its input, of a session the newest message. Compaction keeps the first message of other runs. */
function questionOf({ program, session, context, firstOffset, window }: RunState): string {
  if (program !== undefined) return Object.keys(program.input).length === 0 ? '' : JSON.stringify(program.input);
  if (session !== undefined) return textOf(window.events.findLast(isOfUser));
  if (firstOffset > 0) return textOf(window.events.find(isOfUser));
  const begun = context.events.findIndex(({ given, author }) => !given && author !== 'user');
  const opening = begun < 0 ? context.events : context.events.slice(0, begun);
  // A conversation that the run was given comes before its own input.
  return textOf(opening.find((event) => !event.given && isOfUser(event)) ?? opening.findLast(isOfUser));
}

function isOfUser({ author, content }: ConversationEvent): boolean {
  return author === 'user' && content.some((item) => item.type === 'message' && item.role === 'user');
}

function textOf(event: ConversationEvent | undefined): string {
  const messages = (event?.content ?? []).filter((item) => item.type === 'message' && item.role === 'user');
  return messages.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join(' ');
}
