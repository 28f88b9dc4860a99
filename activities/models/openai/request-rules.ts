import { defined, isJsonObject } from '../../../src/core/domain/json.ts';
import type { OpenAICapabilities } from './capabilities.ts';
import {
  assistantAfterTool,
  CHAT,
  type Dialect,
  type Item,
  listOf,
  neighboursJoined,
  oneCallEach,
  RESPONSES,
  systemFirst,
  textIn,
  userFirst,
  userLast,
  withCallIds,
  withoutEmptyTexts,
  withoutSystem,
} from './message-order.ts';
import { OPAQUE_CALL_FIELDS, OPAQUE_MESSAGE_FIELDS, reasoningText } from './opaque-parts.ts';

export type Api = 'chat' | 'responses';

export type Body = Record<string, unknown>;

/** Matches a refusal: one pattern, or several that all match. Each is linear, and the text has at most 8 kB. */
type Refusal = RegExp | readonly RegExp[];

/** A rule of servers: how it changes requests while it applies, and the refusals that teach it. */
export interface RequestRule {
  /** The rule applies if the capabilities have these values. */
  readonly when: Partial<OpenAICapabilities>;
  /** The servers' answers to a request that breaks it. */
  readonly refusals: readonly Refusal[];
  /** The change, as one sentence of a notice. */
  readonly says: string;
  /** Changes the messages, or the input of Responses. */
  readonly items?: (items: readonly Item[], dialect: Dialect) => Item[];
  /** Changes other fields. */
  readonly body?: (body: Body, api: Api) => Body;
  /** The rule concerns the order of messages: all such rules together answer a refusal that no rule explains. */
  readonly isOrder?: true;
}

/** A server's words for refusing something that the text names. */
const REFUSED =
  /unsupported|not (?:currently |yet )?(?:be )?(?:support|permit|allow|accept|implement|recogni|enabled|a valid)|(?:does ?n[o']t|do not|don't) support|unknown|unrecogni|unexpected|extra_forbidden|extra (?:inputs|fields)|invalid|additional propert|no such|incompatible|deprecated|may not|must not|may only|cannot|no endpoints found that support|is not one of/i;

/** Matches a text that refuses a field of this name. */
function refusesField(name: string): Refusal {
  return [new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'i'), REFUSED];
}

/** Templates of Mistral, Gemma and Llama; Anthropic and Bedrock in other words. */
const ALTERNATE = /roles must alternate|must alternate between|alternate user|found multiple .{1,20} roles in a row/i;

/**
 * The table of rules, in the order in which they change a request. Several rows may have the same refusal: the first row that changes the
 * request counts. A provider's oddity is one row.
 */
export const REQUEST_RULES: readonly RequestRule[] = [
  // The messages.
  {
    when: { systemMessages: 'first' },
    refusals: [
      /system (?:message|role|prompt)s? .{0,40}(?:at the (?:beginning|start)|(?:be|come) (?:the )?first)/i,
      /(?:only|at most|maximum of) (?:one|1|a single) system|multiple system (?:messages|roles|prompts)/i,
      /unexpected role ['"]?(?:system|developer)/i,
      /roles are supported,? (?:but )?got system/i,
    ],
    says: 'all system messages are merged into one at the beginning',
    items: systemFirst,
    isOrder: true,
  },
  {
    when: { systemMessages: 'none' },
    refusals: [
      /system (?:message|role|prompt|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)/i,
      /(?:does not support|unknown (?:variant|role)|unsupported role).{0,12}['"`: ]system/i,
      /developer instruction is not enabled/i,
      /only (?:user and assistant|user, assistant and tool|user\/assistant) roles are (?:supported|allowed)/i,
      /valid role: user, model/i,
    ],
    says: 'the system messages are put in front of the first message of the user',
    items: withoutSystem,
  },
  {
    when: { developerRole: false },
    refusals: [[/developer/i, REFUSED], /unexpected message role/i],
    says: 'instructions are sent in the role "system"',
    items: (items) => items.map((item) => (item['role'] === 'developer' ? { ...item, role: 'system' } : item)),
  },
  // The opaque parts.
  {
    when: { opaqueParts: false },
    refusals: [
      ...OPAQUE_MESSAGE_FIELDS.filter((name) => name.includes('_')).map(refusesField),
      [/['"`.](?:reasoning|signature)['"`\]: ]/i, /messages|assistant|property|extra/i, REFUSED],
      /encrypted content is not supported/i,
      /unknown variant [`'"](?:thinking|reasoning)/i,
    ],
    says: 'the reasoning and the signatures of earlier answers are left out',
    items: (items) => items.flatMap(withoutOpaqueParts),
  },
  // The rest of the messages.
  {
    when: { callIds: 'nine' },
    refusals: [/tool call ids? (?:was|were|should|must).{0,120}(?:length (?:of )?9|9 char)/i],
    says: 'the ids of calls have nine letters and digits',
    items: (items) => withCallIds(items, 'nine'),
  },
  {
    when: { severalCalls: false },
    refusals: [
      /only supports? (?:a )?single tool[- ]calls?|(?:multiple|parallel) tool calls .{0,30}(?:not supported|in (?:a|one) message)/i,
    ],
    says: 'each call of an answer is sent right before its result',
    items: (items, dialect) => (dialect === CHAT ? oneCallEach(items) : [...items]),
  },
  // After the rule above: if calls are sent sequentially, only the first has the reasoning.
  {
    when: { bareCalls: false },
    refusals: [/expected [`'"]?thinking[`'"]?[^.]{0,60}but found|must start with a thinking block/i],
    says: 'calls without the reasoning that led to them, and their results, are sent as text',
    items: (items, dialect) => (dialect === CHAT ? bareCallsAsText(items) : [...items]),
  },
  {
    when: { media: false },
    refusals: [
      [/image|audio|input_file|file_data|vision|multi-?modal|video/i, REFUSED],
      /at most 0 (?:image|audio|video)|is not a multimodal model|missing data required for image/i,
      /(?:image_url|input_audio|file) is only supported|unknown variant [`'"](?:image_url|input_audio|file)/i,
    ],
    says: 'images, audio and files are named by a text',
    items: (items) => items.map(withoutMedia),
  },
  {
    when: { nullContent: false },
    refusals: [
      /content.{0,80}(?:null|none\b|nonetype)|(?:null|none\b|nonetype).{0,80}(?:expected|content)|missing field [`'"]content/i,
      /['"`]content['"`] is a required property|['"`]?nonetype['"`]? (?:object )?is not iterable/i,
    ],
    says: 'the content of a message with calls is an empty text',
    items: (items) => items.map((item) => (item['content'] === null ? { ...item, content: '' } : item)),
  },
  {
    when: { contentParts: false },
    refusals: [
      /content['"`]? (?:field )?must be (?:a )?string|invalid type: sequence,? expected|expected (?:a )?string,? (?:but )?(?:got|received) (?:an? )?(?:array|list)/i,
      [/input should be a valid string|string_type|is not of type ['"]string/i, /content/i],
      /can only concatenate str \(not ['"]list['"]\)/i,
    ],
    says: 'the parts of a message are sent as one text',
    items: (items) => items.map(asText),
  },
  {
    when: { userAfterTool: false },
    refusals: [
      /unexpected role ['"]?user['"]? after role ['"]?tool/i,
      /(?:tool|function) (?:message|response|result)s?.{0,60}followed by (?:an? )?(?:assistant|model)/i,
      ALTERNATE,
    ],
    says: 'a short message of the assistant stands between the result of a tool and the next message of the user',
    items: assistantAfterTool,
    isOrder: true,
  },
  {
    when: { assistantFirst: false },
    refusals: [
      /first message must (?:use|be|have|come)|must (?:start|begin) with a user|no user (?:query|message) found|conversation must start/i,
      /function call turn comes immediately after/i,
    ],
    says: 'a short message of the user is in front of the conversation',
    items: userFirst,
    isOrder: true,
  },
  {
    when: { repeatedRoles: false },
    refusals: [
      ALTERNATE,
      /unexpected role ['"]?(?:user['"]? after role ['"]?user|assistant['"]? after role ['"]?assistant)/i,
      /(?:consecutive|successive) (?:user|assistant|messages)|same role .{0,20}in a row/i,
      /function call turn comes immediately after/i,
    ],
    says: 'messages of one role that follow one another are merged',
    items: neighboursJoined,
    isOrder: true,
  },
  {
    when: { assistantLast: false },
    refusals: [
      /expected last role user|prefill|must end with a user|(?:last|final) (?:message|turn|role).{0,60}(?:must|should|to) (?:be|come from|have).{0,20}user/i,
      /cannot (?:continue|end) .{0,40}assistant message/i,
    ],
    says: 'a short message of the user is at the end',
    items: userLast,
    isOrder: true,
  },
  // Some templates report a system message as a violation of the order.
  {
    when: { systemMessages: 'none' },
    refusals: [ALTERNATE],
    says: 'the system messages are put in front of the first message of the user',
  },

  // Requirements for the messages in their final order.
  {
    when: { reasoningField: true },
    refusals: [
      /missing [`'"]?reasoning_content|reasoning_content[`'"]? (?:is|was) (?:missing|required)|reasoning_content[^.]{0,80}must be (?:passed|sent|provided)/i,
    ],
    says: 'each message with calls has a "reasoning_content"',
    items: (items) => items.map(withReasoning),
  },
  {
    when: { callSignature: true },
    refusals: [/missing (?:a )?[`'"]?thought_?signature/i],
    says: 'calls without a thought signature get the value that skips the check',
    items: (items) => items.map(withSignature),
  },
  {
    when: { callsWithoutTools: false },
    refusals: [
      /[`'"]?tools=?[`'"]? param[^.]{0,40}(?:specified|passed)|requires? [`'"]?(?:tools|toolconfig)[`'"]?|toolconfig field must be defined/i,
    ],
    says: 'a tool is offered that must not be called, because the conversation has calls',
    body: withSomeTool,
  },

  // The parameters.
  {
    when: { typeLists: false },
    refusals: [
      /proto field is not repeating, cannot start list/i,
      /schema.{0,200}(?:lists?|arrays?|unions?) of types (?:is|are) not supported/i,
    ],
    says: 'schemas say by "nullable" that null is allowed, and not by a list of types',
    body: withoutTypeLists,
  },
  {
    when: { encryptedReasoning: false },
    refusals: [
      refusesField('reasoning\\.encrypted_content'),
      /encrypted content is not supported with this model/i,
      refusesField('include'),
    ],
    says: 'encrypted reasoning is not asked for',
    body: (body) => withoutField(body, 'include'),
  },
  {
    when: { strictSchema: false },
    refusals: [refusesField('strict')],
    says: '"strict" is left out',
    body: withoutStrict,
  },
  {
    when: { parallelTools: false },
    refusals: [refusesField('parallel_tool_calls'), refusesField('parallel tool (?:calls|calling)')],
    says: '"parallel_tool_calls" is left out',
    body: (body) => withoutField(body, 'parallel_tool_calls'),
  },
  {
    when: { forcedTools: false },
    refusals: [[/tool[_ ]choice/i, REFUSED], /['"]?required['"]? tool choice (?:requires|is)/i],
    says: 'the model is not made to call a tool ("tool_choice" is "auto")',
    body: (body) => ('tool_choice' in body && body['tool_choice'] !== 'none' ? { ...body, tool_choice: 'auto' } : body),
  },
  {
    when: { promptCacheKey: false },
    refusals: [refusesField('prompt_cache_key')],
    says: '"prompt_cache_key" is left out',
    body: (body) => withoutField(body, 'prompt_cache_key'),
  },
  {
    when: { cacheBreakpoints: false },
    refusals: [refusesField('prompt_cache_breakpoint')],
    says: 'no part of the request is marked to be cached',
  },
  {
    when: { streamUsage: false },
    refusals: [refusesField('stream_options'), refusesField('include_usage')],
    says: '"stream_options" is left out',
    body: (body) => withoutField(body, 'stream_options'),
  },
  {
    when: { structuredOutput: false },
    refusals: [
      [/response[_ ]format|json_schema|text\.format|response mime type|json mode|structured outputs?/i, REFUSED],
      /response_format.{0,60}(?:unavailable|must be)|json mode cannot/i,
    ],
    says: 'the schema of the answer is described in an instruction, and checked by the run',
    body: withoutSchema,
  },
  {
    when: { maxCompletionTokens: true },
    refusals: [
      /max_completion_tokens['"`]? instead|unsupported (?:parameter|value): ['"`]max_tokens|['"`]max_tokens['"`] is not supported/i,
    ],
    says: 'the limit of the answer is sent as "max_completion_tokens"',
  },
  {
    when: { maxCompletionTokens: false },
    refusals: [refusesField('max_completion_tokens')],
    says: 'the limit of the answer is sent as "max_tokens"',
    body: (body) => renamedField(body, 'max_completion_tokens', 'max_tokens'),
  },
  {
    when: { temperature: false },
    refusals: [refusesField('temperature')],
    says: '"temperature" is left out',
    body: (body) => withoutField(body, 'temperature'),
  },
  {
    when: { reasoning: false },
    refusals: [
      refusesField('reasoning_effort'),
      refusesField('reasoning\\.effort'),
      refusesField('reasoning effort'),
      /does not support (?:thinking|reasoning)/i,
    ],
    says: 'no reasoning effort is asked for',
    body: (body) => withoutField(withoutField(withoutField(body, 'reasoning_effort'), 'reasoning'), 'include'),
  },
  {
    when: { streaming: false },
    refusals: [refusesField('stream'), refusesField('streaming'), /verified to stream/i],
    says: 'the answer is not streamed',
    body: (body) => withoutField(withoutField(body, 'stream'), 'stream_options'),
  },
];

/**
 * Refusals of specific reasoning or signatures, for instance because another account made them, or the provider no longer has them. They
 * are left out of this conversation, while later answers' parts are still sent back.
 */
export const REFUSED_PARTS: readonly Refusal[] = [
  /invalid_encrypted_content|could not decrypt/i,
  [/encrypted[_ ]content/i, /could not be|did not match/i],
  /(?:invalid|corrupted|incorrect|malformed)[`'" ]{1,3}(?:thought[_ ])?signature|thought[_ ]signature[`'"]? (?:is )?(?:not valid|invalid|corrupted)/i,
  /thinking[`'"]? blocks? .{0,120}(?:cannot be modified|must remain)|redacted_thinking.{0,80}(?:invalid|could not)/i,
  /of type ['"`]?reasoning['"`]? was provided without its required following item|without its required ['"`]?reasoning['"`]? item/i,
  /item with id ['"`]?rs_\w{1,120}['"`]? not found|reasoning item .{0,140}not found/i,
];

export function matches(refusal: Refusal, text: string): boolean {
  return refusal instanceof RegExp ? refusal.test(text) : refusal.every((pattern) => pattern.test(text));
}

export function holds({ when }: RequestRule, capabilities: OpenAICapabilities): boolean {
  return Object.entries(when).every(([name, value]) => capabilities[name as keyof OpenAICapabilities] === value);
}

/** Returns a body adapted to the server: with the rules that apply, and without parts that no server needs. */
export function withinRules(api: Api, body: Body, capabilities: OpenAICapabilities): Body {
  const name = api === 'chat' ? 'messages' : 'input';
  const dialect = api === 'chat' ? CHAT : RESPONSES;
  const tidy = withoutEmptyTexts(listOf(body[name]));
  let result: Body = { ...body, [name]: capabilities.callIds === 'safe' ? withCallIds(tidy, 'safe') : tidy };
  for (const rule of REQUEST_RULES) {
    if (!holds(rule, capabilities)) continue;
    if (rule.items !== undefined) result = { ...result, [name]: rule.items(listOf(result[name]), dialect) };
    if (rule.body !== undefined) result = rule.body(result, api);
  }
  return result;
}

function withoutField(body: Body, name: string): Body {
  if (!(name in body)) return body;
  const { [name]: _, ...rest } = body;
  return rest;
}

function renamedField(body: Body, from: string, to: string): Body {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name === from ? to : name, value]));
}

/** Removes `strict`. In Responses it is set to false instead, because its default there is true. */
function withoutStrict(body: Body, api: Api): Body {
  const { tools, response_format: format, text } = body;
  const relaxed = (one: unknown): unknown =>
    isJsonObject(one) ? (api === 'chat' ? withoutField(one, 'strict') : { ...one, strict: false }) : one;
  return {
    ...body,
    ...(Array.isArray(tools) ? { tools: functionsOf(tools, api, relaxed) } : {}),
    ...(isJsonObject(format) ? { response_format: { ...format, json_schema: relaxed(format['json_schema']) } } : {}),
    ...(isJsonObject(text) ? { text: { ...text, format: relaxed(text['format']) } } : {}),
  };
}

/** Returns tools with changed functions. A hosted tool has none. */
function functionsOf(tools: unknown, api: Api, change: (one: unknown) => unknown): unknown[] {
  return listOf(tools).map((tool) => {
    if (api === 'chat') return { ...tool, function: change(tool['function']) };
    return tool['type'] === 'function' ? change(tool) : tool;
  });
}

/** Replaces lists of types by `nullable` and `anyOf`, in the schemas of tools and of the answer. */
function withoutTypeLists(body: Body, api: Api): Body {
  const { tools, response_format: format, text } = body;
  const plain = (one: unknown, name: string): unknown => (isJsonObject(one) ? { ...one, [name]: withSingleTypes(one[name]) } : one);
  return {
    ...body,
    ...(Array.isArray(tools) ? { tools: functionsOf(tools, api, (one) => plain(one, 'parameters')) } : {}),
    ...(isJsonObject(format) ? { response_format: { ...format, json_schema: plain(format['json_schema'], 'schema') } } : {}),
    ...(isJsonObject(text) ? { text: { ...text, format: plain(text['format'], 'schema') } } : {}),
  };
}

/** The keywords whose values are data, and not schemas. */
const DATA = new Set(['const', 'default', 'examples', 'enum', 'required']);

function withSingleTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withSingleTypes);
  if (!isJsonObject(schema)) return schema;
  const { properties, type, enum: values, ...others } = schema;
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(others)) result[name] = DATA.has(name) ? value : withSingleTypes(value);
  // The names in `properties` are the user's.
  if (isJsonObject(properties)) {
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, withSingleTypes(value)]));
  }
  if (!Array.isArray(type)) return { ...defined({ type }), ...result, ...defined({ enum: values }) };
  const types = type.filter((one) => one !== 'null');
  const given = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
  const nullable = types.length < type.length ? { nullable: true } : {};
  const [only] = types;
  if (types.length < 2) return { ...(only === undefined ? { type: 'null' } : { type: only, ...nullable }), ...result, ...given };
  return { anyOf: types.map((one) => ({ ...result, type: one })), ...nullable, ...given };
}

/** Describes the schema of the answer in the last system message, or in a new one. */
function withoutSchema(body: Body, api: Api): Body {
  const { response_format: format, text, ...rest } = body;
  const given: unknown =
    api === 'chat' ? (isJsonObject(format) ? format['json_schema'] : undefined) : isJsonObject(text) ? text['format'] : undefined;
  if (!isJsonObject(given)) return body;
  const instruction = `Answer with JSON alone, without a code fence, that fits this JSON Schema:\n${JSON.stringify(given['schema'])}`;
  const name = api === 'chat' ? 'messages' : 'input';
  const dialect = api === 'chat' ? CHAT : RESPONSES;
  const items = listOf(body[name]);
  const at = items.findIndex((item) => dialect.sideOf(item) !== 'system');
  const before = items[at - 1];
  if (before !== undefined)
    return { ...rest, [name]: items.with(at - 1, { ...before, content: `${dialect.textOf(before)}\n\n${instruction}` }) };
  const [first] = items;
  const isUser = first !== undefined && dialect.sideOf(first) === 'user';
  return {
    ...rest,
    [name]: isUser ? items.with(0, dialect.withPrefix(first, instruction)) : [dialect.message('user', instruction), ...items],
  };
}

/** Replaces the media of a message by a text. */
function withoutMedia(item: Item): Item {
  const { content } = item;
  if (!Array.isArray(content) || item['role'] !== 'user') return item;
  const type = item['type'] === 'message' ? 'input_text' : 'text';
  return { ...item, content: listOf(content).map((part) => (typeof part['text'] === 'string' ? part : { type, text: nameOf(part) })) };
}

function nameOf(part: Item): string {
  const { type, image_url: image, file } = part;
  const url = typeof image === 'string' ? image : isJsonObject(image) ? image['url'] : part['file_url'];
  const given = isJsonObject(file) ? file['filename'] : part['filename'];
  const kind = String(type).includes('image') ? 'Image' : String(type).includes('audio') ? 'Audio' : 'File';
  const name = typeof given === 'string' ? `[${kind}: ${given}]` : `[${kind}]`;
  return typeof url === 'string' && !url.startsWith('data:') ? `${name} ${url}` : `${name} (left out: the model does not take it)`;
}

/** Joins the parts of a message into one text. */
function asText(item: Item): Item {
  const { content } = item;
  if (!Array.isArray(content)) return item;
  const texts = listOf(content).map((part) =>
    typeof part['text'] === 'string' ? part['text'] : item['role'] === 'user' ? nameOf(part) : '',
  );
  return { ...item, content: texts.filter((text) => text !== '').join('\n') };
}

function withReasoning(item: Item): Item {
  if (item['tool_calls'] === undefined || typeof item['reasoning_content'] === 'string') return item;
  return { ...item, reasoning_content: reasoningText(item) };
}

/** Writes calls as text, and the results that follow as one user message. */
function bareCallsAsText(items: readonly Item[]): Item[] {
  const result: Item[] = [];
  const names = new Map<unknown, string>();
  let returned: Item | undefined;
  for (const item of items) {
    const calls = listOf(item['tool_calls']);
    const name = item['role'] === 'tool' ? names.get(item['tool_call_id']) : undefined;
    if (name !== undefined) {
      const text = `[${name} returned: ${CHAT.textOf(item)}]`;
      const joined =
        returned === undefined ? { role: 'user', content: text } : { role: 'user', content: `${CHAT.textOf(returned)}\n${text}` };
      if (returned !== undefined) result.pop();
      result.push((returned = joined));
      continue;
    }
    returned = undefined;
    if (calls.length === 0 || hasOpaqueParts(item)) {
      result.push(item);
      continue;
    }
    const lines = calls.map(({ id, function: called }) => {
      const { name: tool, arguments: given } = isJsonObject(called) ? called : {};
      names.set(id, textIn(tool));
      return `[${textIn(tool)} was called with ${textIn(given)}]`;
    });
    result.push({ role: 'assistant', content: [CHAT.textOf(item), ...lines].filter((text) => text !== '').join('\n') });
  }
  return result;
}

function hasOpaqueParts(item: Item): boolean {
  const [first] = listOf(item['tool_calls']);
  return (
    Array.isArray(item['content']) ||
    OPAQUE_MESSAGE_FIELDS.some((name) => name in item) ||
    (first !== undefined && OPAQUE_CALL_FIELDS.some((name) => name in first))
  );
}

/** Offers a tool that the model may not choose. */
function withSomeTool(body: Body, api: Api): Body {
  const hasCalls = listOf(body[api === 'chat' ? 'messages' : 'input']).some(
    (item) => 'tool_calls' in item || item['type'] === 'function_call',
  );
  if (!hasCalls || 'tools' in body) return body;
  const tool = { name: 'no_tool', description: 'Must not be called.', parameters: { type: 'object', properties: {} } };
  const tools = api === 'chat' ? [{ type: 'function', function: tool }] : [{ type: 'function', ...tool, strict: false }];
  return { ...body, tools, tool_choice: 'none' };
}

/** Google's documented value for calls that its models did not make. */
const SKIPPED_SIGNATURE = 'skip_thought_signature_validator';

/** A signature belongs to the first call of an answer. */
function withSignature(item: Item): Item {
  const [first, ...others] = listOf(item['tool_calls']);
  if (first === undefined || OPAQUE_CALL_FIELDS.some((name) => name in first)) return item;
  return { ...item, tool_calls: [{ ...first, extra_content: { google: { thought_signature: SKIPPED_SIGNATURE } } }, ...others] };
}

/** Removes opaque parts. A Responses item that is nothing else is removed as a whole. */
function withoutOpaqueParts(item: Item): Item[] {
  if (item['type'] !== undefined && item['type'] !== 'message') return 'encrypted_content' in item ? [] : [item];
  if (item['role'] !== 'assistant') return [item];
  const { content, tool_calls: calls } = item;
  const plain = OPAQUE_MESSAGE_FIELDS.reduce(withoutField, item);
  const text = listOf(content)
    .map((part) => (part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
  const stripped = listOf(calls).map((call) => {
    const fields = OPAQUE_CALL_FIELDS.reduce(withoutField, call);
    return isJsonObject(fields['function']) ? { ...fields, function: OPAQUE_CALL_FIELDS.reduce(withoutField, fields['function']) } : fields;
  });
  return [
    {
      ...plain,
      ...(Array.isArray(content) ? { content: text === '' ? null : text } : {}),
      ...(calls === undefined ? {} : { tool_calls: stripped }),
    },
  ];
}
