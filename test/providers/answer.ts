/** A call that a model makes in a conversation of the table. */
export interface SaidCall {
  name: string;
  /** The arguments; a text is sent unchanged. */
  arguments: object | string;
  /** Default: an id as the provider makes them. */
  id?: string;
}

/** Why a model has stopped, in the words of no provider. `{ word }` is a literal word. `none`: no finish reason. */
export type Ending = 'stop' | 'calls' | 'length' | 'filtered' | 'none' | { word: string };

/** Oddities of one answer. They overrule the dialect of the family. */
export interface ChatDialect {
  /** The index of a call in its pieces. */
  index: 'numbered' | 'absent' | 'zero';
  /** The id of a call: in its first piece, in each, empty, or nowhere. */
  ids: 'first piece' | 'every piece' | 'empty' | 'absent';
  /** Makes the id of the n-th call of the cell. */
  newId: (n: number) => string;
  /** The arguments come in pieces, in one piece, or as an object. */
  arguments: 'pieces' | 'whole' | 'object';
  /** A call in the field `tool_calls`, in the older one, each in a separate choice, twice, or with `{}` in front of its arguments. */
  calls: 'tool_calls' | 'function_call' | 'choices' | 'repeated' | 'empty object first';
  /** The finish reason in a separate chunk, with the last piece, with every piece, or in front of the second half. */
  finish: 'own chunk' | 'last piece' | 'every piece' | 'early';
  words: Readonly<Record<'stop' | 'calls' | 'length' | 'filtered', string>>;
  usage: 'own chunk' | 'with the finish' | 'every chunk' | 'in the choice' | 'x_groq' | 'absent';
  /** The stream ends with `[DONE]`. */
  done: boolean;
  /** The field of reasoning that belongs to no call; `think`: tags in the text. */
  reasoning: 'reasoning_content' | 'reasoning' | 'think';
  /** Lines between the events that say nothing. */
  comments: readonly string[];
  /** Chunks in front of the first one. */
  before: readonly object[];
  /** One object instead of a stream. */
  whole: boolean;
}

/** What a model says. */
export interface Said {
  reasoning?: string;
  text?: string;
  /** The model refuses, in the separate field for refusals. */
  refusal?: string;
  calls?: readonly SaidCall[];
  /** Default: `calls` if there are any, otherwise `stop`. */
  ending?: Ending;
  dialect?: Partial<ChatDialect>;
  /** The connection breaks at this part of the stream, 0 to 1. */
  cutAt?: number;
  /** The connection ends properly there, without the rest. */
  endsAt?: number;
}

/** The kinds of failure that each family words in its own way. */
export type FailureKind =
  | 'too long'
  | 'rate limited'
  | 'rate limited in words'
  | 'out of quota'
  | 'overloaded'
  | 'server error'
  | 'filtered'
  | 'unauthorized';

/** An answer of the provider itself, not of its model. */
export interface Failure {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  body: unknown;
}

/** What a provider has put into one answer, and wants back unchanged. */
export interface Minted {
  /** The model and the account that it was made for. */
  model: string;
  key: string;
  thought: string;
  signature: string;
  /** True once the provider no longer knows it. */
  forgotten: boolean;
}

/** What the provider does with a request that keeps its rules. */
export type Reply =
  | ({ type: 'said' } & Said)
  | { type: 'failure'; kind: FailureKind }
  /** The failure comes inside a stream of status 200, after the text. */
  | { type: 'failure in the stream'; kind: FailureKind; text?: string }
  | { type: 'status'; failure: Failure }
  /** The connection breaks before a byte of the answer. */
  | { type: 'broken' }
  /** It does not answer until it is hung up on. */
  | { type: 'silent' };

/** The first words of what a model says. */
export function say(text: string, more: Said = {}): Reply {
  return { type: 'said', text, ...more };
}

/** The model calls tools: `[name, arguments]`, or with an id. */
export function call(...calls: readonly ([string, object | string] | [string, object | string, string])[]): Reply {
  return { type: 'said', calls: calls.map(([name, args, id]) => ({ name, arguments: args, ...(id === undefined ? {} : { id }) })) };
}

/** Changes what the model says. */
export function but(reply: Reply, more: Said): Reply {
  return reply.type === 'said' ? { ...reply, ...more } : reply;
}

export function fail(kind: FailureKind): Reply {
  return { type: 'failure', kind };
}
