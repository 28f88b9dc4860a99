import type { ChatDialect, Ending, Minted, Said, SaidCall } from './answer.ts';
import type { OpaqueParts } from './opaque-parts.ts';

/** The dialect of OpenAI's Chat Completions. */
export const PLAIN_CHAT: ChatDialect = {
  index: 'numbered',
  ids: 'first piece',
  newId: (n) => `call_${String(n).padStart(4, '0')}Xw7bK2mQ9rT5vY8zA1`,
  arguments: 'pieces',
  calls: 'tool_calls',
  finish: 'own chunk',
  words: { stop: 'stop', calls: 'tool_calls', length: 'length', filtered: 'content_filter' },
  usage: 'own chunk',
  done: true,
  reasoning: 'reasoning_content',
  comments: [],
  before: [],
  whole: false,
};

export const USAGE = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };

/** What an answer is made with. */
export interface Making {
  dialect: ChatDialect;
  model: string;
  /** The parts of the answer that must be sent back. */
  opaque?: { parts: OpaqueParts; minted: Minted };
  /** Counts the calls of the cell. */
  nextCall: () => number;
}

interface Piece {
  delta: Record<string, unknown>;
  /** The choice that it belongs to. */
  choice?: number;
}

/** Returns the body of an answer: the events of a stream, or one object. */
export function chatBody(said: Said, making: Making): string {
  const dialect = { ...making.dialect, ...said.dialect };
  const calls = (said.calls ?? []).map((one) => ({ ...one, id: one.id ?? dialect.newId(making.nextCall()) }));
  const word = finishWord(said.ending ?? (calls.length > 0 ? 'calls' : 'stop'), dialect);
  if (dialect.whole) return wholeBody(said, calls, word, { ...making, dialect });
  const opaque = making.opaque;
  const pieces: Piece[] = [
    { delta: { role: 'assistant', content: calls.length > 0 && said.text === undefined ? null : '' } },
    ...(opaque === undefined ? [] : opaque.parts.deltas(opaque.minted).map((delta) => ({ delta }))),
    ...textPieces(said, dialect),
    ...callPieces(calls, dialect, opaque),
  ];
  const chunks = withEnd(pieces, word, { ...making, dialect });
  const events = [
    ...dialect.before.map(event),
    ...dialect.comments.map((text) => `: ${text}\n\n`),
    ...chunks.map(event),
    ...(dialect.done ? ['data: [DONE]\n\n'] : []),
  ];
  return events.join('');
}

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function finishWord(ending: Ending, { words }: ChatDialect): string | null {
  if (typeof ending === 'object') return ending.word;
  return ending === 'none' ? null : words[ending];
}

function chunk(model: string, choices: object[], more: object = {}): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_764_000_000, model, choices, ...more };
}

function halves(text: string): string[] {
  return text.length < 2 ? [text] : [text.slice(0, text.length / 2), text.slice(text.length / 2)];
}

function textPieces({ reasoning, text, refusal }: Said, dialect: ChatDialect): Piece[] {
  const thought = reasoning === undefined ? [] : halves(reasoning);
  const tagged = dialect.reasoning === 'think' && reasoning !== undefined;
  const shown = `${tagged ? `<think>${reasoning}</think>\n\n` : ''}${text ?? ''}`;
  return [
    ...(tagged ? [] : thought.map((half) => ({ delta: { [dialect.reasoning]: half } }))),
    ...(shown === '' ? [] : halves(shown).map((content) => ({ delta: { content } }))),
    ...(refusal === undefined ? [] : halves(refusal).map((half) => ({ delta: { refusal: half } }))),
  ];
}

type CallWithId = SaidCall & { id: string };

function callPieces(calls: readonly CallWithId[], dialect: ChatDialect, opaque: Making['opaque']): Piece[] {
  if (dialect.calls === 'function_call') {
    return calls.flatMap(({ name, arguments: args }) => [
      { delta: { function_call: { name, arguments: '' } } },
      ...halves(textOf(args)).map((half) => ({ delta: { function_call: { arguments: half } } })),
    ]);
  }
  const each = calls.map((one, n) => {
    const first = n === 0 && opaque?.parts.ofCall !== undefined ? opaque.parts.ofCall(opaque.minted) : {};
    return piecesOfCall(one, dialect).map((piece, at) => {
      const numbered = dialect.index === 'absent' ? {} : { index: dialect.index === 'zero' ? 0 : n };
      return { delta: { tool_calls: [{ ...numbered, ...piece, ...(at === 0 ? first : {}) }] }, ...choiceOf(dialect, n) };
    });
  });
  return dialect.calls === 'repeated' ? [...each.flat(), ...each.flat()] : each.flat();
}

function choiceOf(dialect: ChatDialect, n: number): { choice?: number } {
  return dialect.calls === 'choices' ? { choice: n } : {};
}

function piecesOfCall({ id, name, arguments: args }: CallWithId, dialect: ChatDialect): Record<string, unknown>[] {
  const identity = dialect.ids === 'absent' ? {} : { id: dialect.ids === 'empty' ? '' : id };
  const start = { ...identity, type: 'function' };
  if (dialect.arguments === 'object') return [{ ...start, function: { name, arguments: args } }];
  const text = textOf(args);
  if (dialect.arguments === 'whole' || dialect.calls === 'repeated') return [{ ...start, function: { name, arguments: text } }];
  const repeats = dialect.ids === 'every piece' || dialect.ids === 'empty';
  const rest = halves(text).map((half) => ({ ...(repeats ? start : {}), function: { ...(repeats ? { name } : {}), arguments: half } }));
  return [{ ...start, function: { name, arguments: dialect.calls === 'empty object first' ? '{}' : '' } }, ...rest];
}

function textOf(args: object | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

/** Returns the chunks with the finish reason and the usage where the dialect has them. */
function withEnd(pieces: readonly Piece[], word: string | null, { dialect, model }: Making): object[] {
  const { finish, usage } = dialect;
  const every = usage === 'every chunk' ? { usage: USAGE } : {};
  const withFinish =
    usage === 'with the finish' ? { usage: USAGE } : usage === 'x_groq' ? { x_groq: { id: 'req_1', usage: USAGE } } : every;
  const ofChoice = usage === 'in the choice' ? { usage: USAGE } : {};
  const early = Math.max(1, Math.floor(pieces.length / 2));
  const chunks = pieces.map(({ delta, choice = 0 }, at) => {
    const isLast = at === pieces.length - 1;
    const ends = finish === 'every piece' || (finish === 'last piece' && isLast) || (finish === 'early' && at === early - 1);
    const reason = ends ? word : null;
    return chunk(model, [{ index: choice, delta, finish_reason: reason, ...(ends ? ofChoice : {}) }], ends ? withFinish : every);
  });
  if (finish === 'own chunk' && word !== null) {
    const choices = new Set(pieces.map(({ choice = 0 }) => choice));
    for (const index of choices) chunks.push(chunk(model, [{ index, delta: {}, finish_reason: word, ...ofChoice }], withFinish));
  }
  if (usage === 'own chunk') chunks.push(chunk(model, [], { usage: USAGE }));
  return chunks;
}

function wholeBody(said: Said, calls: readonly CallWithId[], word: string | null, { dialect, model, opaque }: Making): string {
  const fields = opaque === undefined ? {} : wholeFields(opaque);
  const message = {
    role: 'assistant',
    content: said.text ?? (calls.length > 0 ? null : ''),
    ...(said.refusal === undefined ? {} : { refusal: said.refusal }),
    ...(said.reasoning === undefined || dialect.reasoning === 'think' ? {} : { [dialect.reasoning]: said.reasoning }),
    ...fields,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: args }, n) => ({
            ...(dialect.ids === 'absent' ? {} : { id: dialect.ids === 'empty' ? '' : id }),
            type: 'function',
            function: { name, arguments: dialect.arguments === 'object' ? args : textOf(args) },
            ...(n === 0 && opaque?.parts.ofCall !== undefined ? opaque.parts.ofCall(opaque.minted) : {}),
          })),
        }),
  };
  const usage = dialect.usage === 'absent' ? {} : { usage: USAGE };
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_764_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: word }],
    ...usage,
  });
}

/** Returns the fields of the deltas as one message has them. */
function wholeFields({ parts, minted }: NonNullable<Making['opaque']>): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of parts.deltas(minted).flatMap(Object.entries<unknown>)) {
    const before = fields[name];
    if (typeof before === 'string' && typeof value === 'string') fields[name] = before + value;
    else fields[name] = Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value;
  }
  // Blocks are whole outside of a stream.
  return 'thinking_blocks' in fields ? { ...fields, thinking_blocks: parts.expected(minted) } : fields;
}
