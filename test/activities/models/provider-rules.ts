/** A body of Chat Completions, as a server reads it. */
export interface ChatBody {
  messages: ChatEntry[];
  tools?: { function: { name: string; strict?: boolean } }[];
  [field: string]: unknown;
}

interface ChatEntry {
  role: string;
  content: unknown;
  tool_calls?: { id: string; function: { name: string; arguments: string }; [field: string]: unknown }[];
  tool_call_id?: string;
  [field: string]: unknown;
}

/** A rule of a provider: the body that breaks it, and what the provider answers then. */
export interface ProviderRule<Body = unknown> {
  status: number;
  refusal: string;
  isBroken: (body: Body) => boolean;
  /** Rules that no provider has together with this one. */
  without?: readonly string[];
}

const neighbours = (body: ChatBody, first: string, second: string): boolean =>
  body.messages.some(({ role }, at) => role === second && body.messages[at - 1]?.role === first);
const spoken = ({ messages }: ChatBody): ChatEntry[] => messages.filter(({ role }) => role !== 'system');
const calls = ({ messages }: ChatBody): NonNullable<ChatEntry['tool_calls']>[] =>
  messages.flatMap(({ tool_calls: made }) => (made === undefined ? [] : [made]));
const hasOpaque = ({ messages }: ChatBody): boolean =>
  /reasoning|thinking|extra_content/.test(
    JSON.stringify(messages.map(({ role: _, content, ...rest }) => [Array.isArray(content) ? content : '', rest])),
  );

/** The rules of providers with Chat Completions, by name. */
export const PROVIDER_RULES: Readonly<Record<string, ProviderRule<ChatBody>>> = {
  oneSystem: {
    status: 400,
    refusal: 'System message must be at the beginning.',
    isBroken: ({ messages }) => messages.some(({ role }, at) => role === 'system' && at > 0),
  },
  noSystem: {
    status: 400,
    refusal: 'System role not supported',
    isBroken: ({ messages }) => messages.some(({ role }) => role === 'system'),
  },
  userAfterTool: { status: 400, refusal: "Unexpected role 'user' after role 'tool'", isBroken: (body) => neighbours(body, 'tool', 'user') },
  noTwoUsers: {
    status: 500,
    refusal:
      'Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
    isBroken: (body) => neighbours(body, 'user', 'user') || neighbours(body, 'assistant', 'assistant'),
  },
  startsWithUser: {
    status: 400,
    refusal: 'messages: first message must use the "user" role',
    isBroken: (body) => spoken(body)[0]?.role !== 'user',
  },
  endsWithUser: {
    status: 400,
    refusal: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    isBroken: (body) => body.messages.at(-1)?.role === 'assistant',
  },
  nineLetters: {
    status: 400,
    refusal: 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.',
    isBroken: (body) => calls(body).some((made) => made.some(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id))),
  },
  singleCalls: {
    status: 500,
    refusal: 'Jinja Exception: This model only supports single tool-calls at once!',
    isBroken: (body) => calls(body).some((made) => made.length > 1),
  },
  reasoningField: {
    status: 400,
    refusal: 'Missing `reasoning_content` field in the assistant message at message index 2',
    isBroken: ({ messages }) =>
      messages.some((message) => message.tool_calls !== undefined && typeof message['reasoning_content'] !== 'string'),
    without: ['noOpaque'],
  },
  signature: {
    status: 400,
    refusal: 'Function call is missing a thought_signature in functionCall parts.',
    isBroken: (body) => calls(body).some(([first]) => first !== undefined && !('extra_content' in first)),
    without: ['noOpaque'],
  },
  noOpaque: {
    status: 422,
    refusal:
      '[{"type":"extra_forbidden","loc":["body","messages",2,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]',
    isBroken: hasOpaque,
  },
  noImages: {
    status: 400,
    refusal: 'unknown variant `image_url`, expected `text`',
    isBroken: ({ messages }) => JSON.stringify(messages).includes('"image_url"'),
  },
  textContent: {
    status: 422,
    refusal: 'messages[3].content: invalid type: sequence, expected a string',
    isBroken: ({ messages }) => messages.some(({ content }) => Array.isArray(content)),
  },
  noNull: {
    status: 422,
    refusal: 'messages[3].content: invalid type: null, expected a string',
    isBroken: ({ messages }) => messages.some(({ content }) => content === null),
  },
  noStrict: {
    status: 400,
    refusal: 'Unknown name "strict" at \'tools[0].function\': Cannot find field.',
    isBroken: (body) =>
      JSON.stringify(body.tools ?? []).includes('"strict"') || JSON.stringify(body['response_format'] ?? {}).includes('"strict"'),
  },
  noParallel: {
    status: 400,
    refusal: 'Unrecognized request argument supplied: parallel_tool_calls',
    isBroken: (body) => 'parallel_tool_calls' in body,
  },
  noStreamOptions: {
    status: 400,
    refusal: '#/stream_options: Extra inputs are not permitted',
    isBroken: (body) => 'stream_options' in body,
  },
  noForcedTool: {
    status: 400,
    refusal: 'Thinking mode does not support this tool_choice',
    isBroken: (body) => 'tool_choice' in body && body['tool_choice'] !== 'auto',
  },
  noSchema: { status: 400, refusal: 'This response_format type is unavailable now', isBroken: (body) => 'response_format' in body },
  noTemperature: { status: 400, refusal: '`temperature` is deprecated for this model.', isBroken: (body) => 'temperature' in body },
  newLimit: {
    status: 400,
    refusal: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    isBroken: (body) => 'max_tokens' in body,
  },
  noEffort: {
    status: 400,
    refusal: 'Unrecognized request argument supplied: reasoning_effort',
    isBroken: (body) => 'reasoning_effort' in body,
  },
  noBareCalls: {
    status: 400,
    refusal: 'messages.2.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    isBroken: ({ messages }) => messages.some((message) => message.tool_calls !== undefined && !('reasoning_content' in message)),
    without: ['noOpaque', 'reasoningField', 'signature', 'silentOrder'],
  },
  // The same order, and no word about it.
  silentOrder: {
    status: 400,
    refusal: 'Bad Request',
    isBroken: (body) => neighbours(body, 'tool', 'user') || neighbours(body, 'user', 'user') || body.messages.at(-1)?.role === 'assistant',
  },
};

/** Returns what no provider takes in any conversation; undefined for a sound body. */
export function chatUnsoundness({ messages }: ChatBody): string | undefined {
  const known = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const { role, content, tool_calls: made = [], tool_call_id: answered } = message;
    const texts = Array.isArray(content) ? content.map((part: { text?: unknown }) => part.text) : [content];
    if (role !== 'assistant' && texts.some((text) => typeof text === 'string' && text.trim() === '')) return `message ${at} is empty`;
    if (role === 'assistant' && made.length === 0 && texts.every((text) => typeof text !== 'string' || text.trim() === ''))
      return `answer ${at} is empty`;
    const results: unknown[] = [];
    for (let next = at + 1; messages[next]?.role === 'tool'; next += 1) results.push(messages[next]?.tool_call_id);
    for (const { id, function: called } of made) {
      if (known.has(id)) return `two calls have the id ${id}`;
      known.add(id);
      if (!/^[a-zA-Z0-9_-]{1,40}$/.test(id)) return `the id ${id}`;
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(called.name)) return `the name ${called.name}`;
      if (typeof JSON.parse(called.arguments) !== 'object') return 'arguments that are no object';
      if (!results.includes(id)) return `call ${id} has no result`;
    }
    if (role === 'tool' && (answered === undefined || !known.has(answered))) return `result ${at} without a call`;
  }
  return undefined;
}

/** A body of Responses, as a server reads it. */
export interface ResponsesBody {
  input: ResponsesEntry[];
  tools?: { name: string; strict?: boolean }[];
  [field: string]: unknown;
}

interface ResponsesEntry {
  type: string;
  role?: string;
  content?: unknown;
  call_id?: string;
  name?: string;
  arguments?: string;
  output?: unknown;
  [field: string]: unknown;
}

/** The author of an item; undefined for an item that is neither a message nor a result. */
const roleOf = ({ type, role }: ResponsesEntry | undefined = { type: '' }): string | undefined =>
  type === 'function_call_output' ? 'tool' : type === 'message' ? role : undefined;
const follows = ({ input }: ResponsesBody, first: string, second: string): boolean =>
  input.some((item, at) => roleOf(item) === second && roleOf(input[at - 1]) === first);

/** The rules of providers with Responses, by name. */
export const RESPONSES_RULES: Readonly<Record<string, ProviderRule<ResponsesBody>>> = {
  oneSystem: {
    status: 400,
    refusal: 'System message must be at the beginning.',
    isBroken: ({ input }) => input.some((item, at) => roleOf(item) === 'system' && at > 0),
  },
  noSystem: {
    status: 400,
    refusal: 'System role not supported',
    isBroken: ({ input }) => input.some((item) => roleOf(item) === 'system'),
  },
  userAfterTool: {
    status: 400,
    refusal: 'A tool result must be followed by an assistant message.',
    isBroken: (body) => follows(body, 'tool', 'user'),
  },
  noTwoUsers: {
    status: 400,
    refusal: 'Conversation roles must alternate user/assistant/user/assistant/...',
    isBroken: (body) => follows(body, 'user', 'user') || follows(body, 'assistant', 'assistant'),
  },
  startsWithUser: {
    status: 400,
    refusal: 'Conversation must start with a user message.',
    isBroken: ({ input }) => roleOf(input.find((item) => roleOf(item) !== 'system')) !== 'user',
  },
  endsWithUser: {
    status: 400,
    refusal: 'The last message must be from the user.',
    isBroken: ({ input }) => roleOf(input.at(-1)) === 'assistant',
  },
  nineLetters: {
    status: 400,
    refusal: 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.',
    isBroken: ({ input }) => input.some(({ call_id: id }) => id !== undefined && !/^[a-zA-Z0-9]{9}$/.test(id)),
  },
  noEncrypted: {
    status: 400,
    refusal: "Unknown parameter: 'input[2].encrypted_content'.",
    isBroken: ({ input }) => input.some((item) => 'encrypted_content' in item),
  },
  noInclude: {
    status: 400,
    refusal: "Invalid value: 'reasoning.encrypted_content'. 'include' is not supported.",
    isBroken: (body) => 'include' in body,
  },
  noImages: {
    status: 400,
    refusal: 'Image input is not supported for this model.',
    isBroken: ({ input }) => JSON.stringify(input).includes('"input_image"'),
  },
  textContent: {
    status: 422,
    refusal: 'input[3].content: invalid type: sequence, expected a string',
    isBroken: ({ input }) => input.some(({ content }) => Array.isArray(content)),
  },
  noStrict: {
    status: 400,
    refusal: "Unsupported parameter: 'strict' is not supported with this model.",
    isBroken: (body) => JSON.stringify([body.tools, body['text']]).includes('"strict":true'),
  },
  noParallel: {
    status: 400,
    refusal: 'Unrecognized request argument supplied: parallel_tool_calls',
    isBroken: (body) => 'parallel_tool_calls' in body,
  },
  noForcedTool: {
    status: 400,
    refusal: 'Tool choice must not be "required" for this model',
    isBroken: (body) => 'tool_choice' in body && body['tool_choice'] !== 'auto',
  },
  noSchema: {
    status: 400,
    refusal: "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.",
    isBroken: (body) => 'text' in body,
  },
  noTemperature: {
    status: 400,
    refusal: "Unsupported parameter: 'temperature' is not supported with this model.",
    isBroken: (body) => 'temperature' in body,
  },
  noEffort: {
    status: 400,
    refusal: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    isBroken: (body) => 'reasoning' in body,
  },
  // The same order, and no word about it.
  silentOrder: {
    status: 400,
    refusal: 'Bad Request',
    isBroken: (body) => follows(body, 'tool', 'user') || follows(body, 'user', 'user') || roleOf(body.input.at(-1)) === 'assistant',
  },
};

/** Returns what no provider takes in any input; undefined for a sound body. */
export function responsesUnsoundness({ input }: ResponsesBody): string | undefined {
  const known = new Set<string>();
  for (const [at, item] of input.entries()) {
    const { type, content, call_id: id = '', name = '', arguments: given = '', output } = item;
    const next = input[at + 1];
    if (type === 'reasoning') {
      const isFollowed = next !== undefined && (next.type === 'function_call' || next.type === 'reasoning' || roleOf(next) === 'assistant');
      if (!isFollowed) return `reasoning ${at} has no item behind it`;
    }
    if (type === 'message') {
      const texts = Array.isArray(content) ? content.map((part: { text?: unknown }) => part.text) : [content];
      if (texts.length === 0 || texts.some((text) => text === null || (typeof text === 'string' && text.trim() === '')))
        return `message ${at} is empty`;
    }
    if (type === 'function_call') {
      if (known.has(id)) return `two calls have the id ${id}`;
      known.add(id);
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return `the id ${id}`;
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return `the name ${name}`;
      if (typeof JSON.parse(given) !== 'object') return 'arguments that are no object';
      const answers = input.filter((one, place) => one.type === 'function_call_output' && one.call_id === id && place > at);
      if (answers.length !== 1) return `call ${id} has ${answers.length} results`;
    }
    if (type === 'function_call_output') {
      if (!known.has(id)) return `result ${at} without a call`;
      if (typeof output === 'string' && output.trim() === '') return `result ${at} is empty`;
    }
  }
  return undefined;
}
