import { isJsonObject } from '../../src/core/domain/json.ts';
import type { Minted } from './answer.ts';
import type { SentMessage, SentRequest, SentTool } from './sent-request.ts';

/** The first place where a request breaks a rule, for the provider's message. */
export interface Finding {
  /** The index of the message, or of the tool. */
  at: number;
  /** The role of the message, and of the one before it. */
  role: string;
  before: string;
  /** The id, the name, the field or the path that the rule is about. */
  what: string;
}

/** Returns the first place where a request breaks the rule. `minted` are the items that the provider has sent to be sent back. */
export type Rule = (request: SentRequest, minted: readonly Minted[]) => Finding | undefined;

/** A rule about one message. Returns what breaks it. */
type MessageRule = (message: SentMessage, at: number, messages: readonly SentMessage[]) => string | undefined;

function everyMessage(rule: MessageRule): Rule {
  return ({ messages }) => {
    for (const [at, message] of messages.entries()) {
      const what = rule(message, at, messages);
      if (what !== undefined) return { at, role: message.role, before: messages[at - 1]?.role ?? '', what };
    }
    return undefined;
  };
}

function everyTool(rule: (tool: SentTool) => string | undefined): Rule {
  return ({ tools }) => {
    for (const [at, tool] of tools.entries()) {
      const what = rule(tool);
      if (what !== undefined) return { at, role: '', before: '', what };
    }
    return undefined;
  };
}

const when = (broken: boolean, what = ''): string | undefined => (broken ? what : undefined);
const isSystem = ({ role }: SentMessage): boolean => role === 'system' || role === 'developer';
const nothing = (what: string): Finding => ({ at: 0, role: '', before: '', what });

// Messages and their order.

export const oneSystemMessageFirst = everyMessage((message, at) => when(at > 0 && isSystem(message)));

export const systemMessagesFirst = everyMessage((message, at, messages) =>
  when(isSystem(message) && messages.slice(0, at).some((one) => !isSystem(one))),
);

export const noDeveloperRole = everyMessage(({ role }) => when(role === 'developer'));

export const noUserBehindTool = everyMessage(({ role }, at, messages) => when(role === 'user' && messages[at - 1]?.role === 'tool'));

export const noToolBehindUser = everyMessage(({ role }, at, messages) => when(role === 'tool' && messages[at - 1]?.role === 'user'));

/** User and assistant take turns. Tool results are between two messages of the assistant. */
export const rolesAlternate = everyMessage(({ role }, at, messages) =>
  when((role === 'user' || role === 'assistant') && messages[at - 1]?.role === role),
);

export const beginsWithUser = everyMessage((message, at, messages) =>
  when(!isSystem(message) && message.role !== 'user' && messages.slice(0, at).every(isSystem)),
);

export const endsWithUserOrTool = everyMessage(({ role }, at, messages) => when(at === messages.length - 1 && role === 'assistant'));

export const endsWithSomethingToAnswer = everyMessage((message, at, messages) => when(at === messages.length - 1 && isSystem(message)));

export const noEmptyAssistant = everyMessage(({ role, text, calls }) => when(role === 'assistant' && text === '' && calls.length === 0));

/** No text is empty, neither a whole one nor a part. The content of an assistant that calls tools may be null. */
export const noEmptyText = everyMessage(({ role, texts, media, calls, raw }) => {
  if (texts.some((text) => text.trim() === '')) return role;
  return when(texts.length === 0 && !media && calls.length === 0 && role !== 'tool' && raw['type'] !== 'function_call', role);
});

export const everyCallIsAnswered = everyMessage(({ calls }, at, messages) => {
  const answers: (string | undefined)[] = [];
  for (let next = at + 1; messages[next]?.role === 'tool'; next += 1) answers.push(messages[next]?.callId);
  const open = calls.filter(({ id }) => !answers.includes(id));
  return when(open.length > 0, open.map(({ id }) => id).join(', '));
});

/** A result follows the message with its call, with only other results between them. */
export const everyResultHasItsCall = everyMessage(({ role, callId = '' }, at, messages) => {
  if (role !== 'tool') return undefined;
  let before = at - 1;
  while (messages[before]?.role === 'tool') before -= 1;
  return when(messages[before]?.calls.some(({ id }) => id === callId) !== true, callId);
});

export const noIdTwice = everyMessage(({ calls, callId, role }, at, messages) => {
  const earlier = messages.slice(0, at);
  const ids = calls.map(({ id }) => id);
  const calledBefore = earlier.flatMap((one) => one.calls.map(({ id }) => id));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index || calledBefore.includes(id));
  if (twice !== undefined) return twice;
  return when(role === 'tool' && earlier.some((one) => one.role === 'tool' && one.callId === callId), callId);
});

export const idsLike = (pattern: RegExp): Rule =>
  everyMessage(({ calls, callId }) => {
    const wrong = [...calls.map(({ id }) => id), ...(callId === undefined ? [] : [callId])].find((id) => !pattern.test(id));
    return when(wrong !== undefined, wrong);
  });

export const namesLike = (pattern: RegExp): Rule => {
  const ofCalls = everyMessage(({ calls }) => calls.find(({ name }) => !pattern.test(name))?.name);
  const ofTools = everyTool(({ name }) => when(!pattern.test(name), name));
  return (request, minted) => ofTools(request, minted) ?? ofCalls(request, minted);
};

export const argumentsAreObjects = everyMessage(({ calls }) => calls.find((call) => !isObjectText(call.arguments))?.id);

function isObjectText(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Servers that are not written in JavaScript cannot read half of a character. */
export const wellFormedText: Rule = ({ json }) => {
  let broken: string | undefined;
  JSON.parse(json, (name, value: unknown) => {
    if (typeof value === 'string' && !value.isWellFormed()) broken = name;
    return value;
  });
  return broken === undefined ? undefined : nothing(broken);
};

/** Only messages of the user contain images. */
export const mediaOfUsersOnly = everyMessage(({ role, media }) => when(media && role !== 'user'));

// Fields.

/** Only these fields, listed with blanks, may be at the top level of a request. */
export const fieldsAre =
  (known: string): Rule =>
  ({ body }) => {
    const other = Object.keys(body).find((field) => !known.split(' ').includes(field));
    return other === undefined ? undefined : nothing(other);
  };

/** Only these fields, listed with blanks, may be in a message. */
export const messageFieldsAre = (known: string): Rule =>
  everyMessage(({ raw }) => Object.keys(raw).find((field) => !known.split(' ').includes(field)));

export const without =
  (field: string): Rule =>
  ({ body }) =>
    field in body ? nothing(field) : undefined;

/** Reasoning models take no other temperature than 1. */
export const temperatureIsOne: Rule = ({ body }) => {
  const temperature = body['temperature'];
  return temperature === undefined || temperature === 1 ? undefined : nothing(JSON.stringify(temperature));
};

/** The model chooses for itself: `tool_choice` is `auto` or `none`. */
export const freeToolChoice: Rule = ({ body }) => {
  const choice = body['tool_choice'];
  if (choice === undefined || choice === 'auto' || choice === 'none') return undefined;
  return nothing(typeof choice === 'string' ? choice : 'object');
};

/** A request whose conversation has calls offers tools, too. */
export const callsNeedTools: Rule = ({ messages, tools }) =>
  tools.length === 0 && messages.some(({ calls }) => calls.length > 0) ? nothing('tools') : undefined;

export const toolChoiceNeedsTools: Rule = ({ body, tools }) =>
  tools.length === 0 && 'tool_choice' in body ? nothing('tool_choice') : undefined;

// Schemas of tools. `what` is the name of the tool, a colon, and the path.

const schemaOf = ({ parameters }: SentTool): Record<string, unknown> => (isJsonObject(parameters) ? parameters : {});

export const rootIsObject = everyTool((tool) => when(schemaOf(tool)['type'] !== 'object', tool.name));

export const rootHasProperties = everyTool((tool) => when(!isJsonObject(schemaOf(tool)['properties']), tool.name));

export const noRootUnions = everyTool((tool) =>
  when(
    ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].some((word) => word in schemaOf(tool)),
    tool.name,
  ),
);

export const arraysHaveItems = everyTool((tool) =>
  schemaProblem(tool, (schema) => [schema['type']].flat().includes('array') && schema['items'] === undefined),
);

export const noReferences = everyTool((tool) => schemaProblem(tool, (schema) => '$ref' in schema));

export const oneTypeEach = everyTool((tool) => schemaProblem(tool, (schema) => Array.isArray(schema['type'])));

/** With `strict`, every object lists all of its properties as required, and takes no others. */
export const strictObjectsAreClosed = everyTool((tool) =>
  tool.strict
    ? schemaProblem(tool, (schema) => {
        if (schema['type'] !== 'object') return false;
        const required: unknown = schema['required'];
        const names = Object.keys(isJsonObject(schema['properties']) ? schema['properties'] : {});
        return schema['additionalProperties'] !== false || !Array.isArray(required) || names.some((name) => !required.includes(name));
      })
    : undefined,
);

function schemaProblem(tool: SentTool, isWrong: (schema: Record<string, unknown>) => boolean): string | undefined {
  const path = wrongPath(tool.parameters, isWrong, '');
  return path === undefined ? undefined : `${tool.name}:${path}`;
}

function wrongPath(value: unknown, isWrong: (schema: Record<string, unknown>) => boolean, path: string): string | undefined {
  if (Array.isArray(value)) return value.map((one) => wrongPath(one, isWrong, path)).find((found) => found !== undefined);
  if (!isJsonObject(value)) return undefined;
  if (isWrong(value)) return path;
  for (const [name, inner] of Object.entries(value)) {
    // The names below `properties` are the user's.
    const found =
      name === 'properties' && isJsonObject(inner)
        ? Object.entries(inner)
            .map(([property, schema]) => wrongPath(schema, isWrong, `${path}/properties/${property}`))
            .find((one) => one !== undefined)
        : wrongPath(inner, isWrong, `${path}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
