import { z } from 'zod';
import type { ContentPart } from '../../../core/domain/content.ts';
import { RequestError } from '../../problems/request-error.ts';
import { list, MOST } from '../../schemas/bounded.ts';
import { component } from '../../schemas/component.ts';
import { nameText } from '../../schemas/json.ts';

/** The id of a chat, as the client chose it. */
export const chatIdText = nameText.max(200);

const posted = z.looseObject({ id: nameText, role: z.string(), parts: list(z.looseObject({ type: z.string() }), { max: MOST.parts }) });

/** The body of a chat request, as `useChat` sends it. Members that the service does not name are those of the page. */
export const chatBody = component(
  'Chat',
  z.looseObject({
    id: chatIdText.describe('The id of the chat: that of its session, within the tenant.'),
    messages: list(posted, { min: 1, max: MOST.items }).describe(
      'Only the last message, if the user wrote it, and the answers to approvals are read: the session has the conversation.',
    ),
    trigger: z.string().optional(),
    messageId: z.string().optional().describe('The message that the answer goes on, or that is sent again.'),
  }),
);

type PostedMessage = z.output<typeof posted>;

/** An answer to a request for a decision. */
export interface ApprovalAnswer {
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/** A message that the user wrote. */
export interface UserMessage {
  id: string;
  content: string | ContentPart[];
}

/** The parts of a chat request that are read. */
export interface PostedChat {
  /** The last message, if it is one of the user. */
  message?: UserMessage;
  answers: ApprovalAnswer[];
  /** True if the client goes on with a message of the assistant, and has what that has. */
  goesOn: boolean;
  /** True if the message may have been sent before with another content. */
  mayBeChanged: boolean;
  /** True if the client asks for an answer that was given before. */
  isRepeat: boolean;
}

/** The most answers in one request: each is one to the run. With a message, those before the newest ones are old ones, sent again. */
const MOST_ANSWERS = 32;

const answered = z.object({
  state: z.literal('approval-responded'),
  approval: z.object({ id: z.string().min(1).max(4_000), approved: z.boolean(), reason: z.string().max(20_000).nullish() }),
});

/** Reads the body of a chat request. Throws `invalid_request` if it has no message and no answer. */
export function readPostedChat({ messages, trigger, messageId }: z.output<typeof chatBody>): PostedChat {
  const last = messages.at(-1);
  const isRepeat = trigger === 'regenerate-message';
  const named = isRepeat ? undefined : messages.find(({ id }) => id === messageId);
  const message = last?.role === 'user' ? userMessage(last, messages.length - 1) : undefined;
  const answers = answersIn(messages).slice(message === undefined ? 0 : -MOST_ANSWERS);
  if (answers.length > MOST_ANSWERS) throw invalid('#/messages', `${answers.length} answers to approvals: send at most ${MOST_ANSWERS}`);
  if (message === undefined && answers.length === 0) {
    throw invalid(
      '#/messages',
      'the last message is not one of the user, and none has an answer to an approval: the service reads nothing else',
    );
  }
  // `sendMessage()` without a message names the last one, too, and that may not have been sent.
  const mayBeChanged = named?.role === 'user' && named.id === last?.id;
  return { ...(message === undefined ? {} : { message }), answers, goesOn: (named ?? last)?.role === 'assistant', mayBeChanged, isRepeat };
}

function answersIn(messages: readonly PostedMessage[]): ApprovalAnswer[] {
  const byId = new Map<string, ApprovalAnswer>();
  for (const part of messages.flatMap(({ role, parts }) => (role === 'assistant' ? parts : []))) {
    const read = answered.safeParse(part);
    if (!read.success) continue;
    const { id, approved, reason } = read.data.approval;
    byId.set(id, { approvalId: id, approved, ...(typeof reason === 'string' ? { reason } : {}) });
  }
  return [...byId.values()];
}

function userMessage({ id, parts }: PostedMessage, index: number): UserMessage {
  const content = parts.flatMap((part, place) => contentOf(part, `#/messages/${index}/parts/${place}`));
  if (content.length === 0) throw invalid(`#/messages/${index}/parts`, 'neither text nor files');
  const texts = content.map((part) => (part.type === 'text' ? part.text : undefined));
  const isText = texts.every((text) => text !== undefined);
  return { id, content: isText ? texts.join('\n') : content };
}

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const filePart = z.object({
  type: z.literal('file'),
  url: z.string().min(1),
  mediaType: z.string().min(1),
  filename: z.string().nullish(),
});

/** Parts of other types, such as `data-…`, are about the page alone. */
function contentOf(part: PostedMessage['parts'][number], pointer: string): ContentPart[] {
  if (part.type === 'text') {
    const read = textPart.safeParse(part);
    if (!read.success) throw invalid(pointer, 'a part of type "text" has a "text"');
    return read.data.text === '' ? [] : [{ type: 'text', text: read.data.text }];
  }
  if (part.type !== 'file') return [];
  const read = filePart.safeParse(part);
  if (!read.success) throw invalid(pointer, 'a part of type "file" has a "url" and a "mediaType"');
  return [fileContent(read.data)];
}

const DATA_URL = /^data:(?<mediaType>[^;,]*)(?:;[^;,]*)*;base64,(?<data>.*)$/s;

function fileContent({ url, mediaType, filename }: z.output<typeof filePart>): ContentPart {
  const inline = DATA_URL.exec(url)?.groups;
  const source = inline === undefined ? { url, mediaType } : { data: inline['data'] ?? '', mediaType };
  const [kind = ''] = mediaType.split('/');
  if (kind === 'image' || kind === 'audio' || kind === 'video') return { type: kind, ...source };
  return { type: 'file', ...source, ...(typeof filename === 'string' ? { name: filename } : {}) };
}

/** The refusal of a message that was sent before with another content. */
export function changedMessage(): RequestError {
  return invalid('#/messageId', 'a message that was sent cannot be changed: send another one');
}

function invalid(pointer: string, detail: string): RequestError {
  return new RequestError('invalid_request', `The chat cannot go on: ${detail}`, { errors: [{ pointer, detail }] });
}
