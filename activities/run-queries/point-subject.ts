import type { AtPointInput } from '../../src/core/activity-requests/contracts.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { type DataView, QUERIES } from '../../src/core/protocol.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { queryRun } from './query-run.ts';

type Message = Extract<ContentItem, { type: 'message' }>;

/** What is asked about at a point of the conversation, and its text. */
type PointSubject =
  | { type: 'input'; messages: Message[]; text: string }
  /** The answer as the run would give it. */
  | { type: 'output'; output: JsonValue; text: string };

/** What is known at a point. */
export interface ReadPoint {
  subject: PointSubject;
  data: DataView;
}

/** Reads what is asked about at a point from the run. */
export async function readPoint(runtime: ActivityRuntime, run: AtPointInput): Promise<ReadPoint> {
  const data = await queryRun<DataView>(run, QUERIES.data, null);
  return { data, subject: await subjectOf(runtime, run, data) };
}

async function subjectOf(runtime: ActivityRuntime, input: AtPointInput, { answer = '' }: DataView): Promise<PointSubject> {
  if (input.point === 'output') return { type: 'output', output: answer, text: textOfAnswer(answer) };
  const { events } = await runtime.conversations.window(input, input);
  const messages = events.filter(({ offset }) => offset >= (input.from ?? 0)).flatMap(({ content }) => content.filter(isUserMessage));
  return { type: 'input', messages, text: messages.map(textOfMessage).join('\n') };
}

function isUserMessage(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}

function textOfMessage({ content }: Message): string {
  return typeof content === 'string' ? content : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** Returns the text of an answer: the texts of its parts, or JSON for a structured one. */
function textOfAnswer(answer: JsonValue): string {
  if (typeof answer === 'string') return answer;
  const texts = Array.isArray(answer) ? answer.flatMap((part) => textOfPart(part) ?? []) : [];
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(answer);
}

function textOfPart(part: JsonValue): string | undefined {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined;
  return part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : undefined;
}
