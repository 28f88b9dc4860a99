import type { JsonObject } from './json.ts';
import type { ModelRequest } from './model.ts';
import * as s from './shape.ts';

const UNKNOWN_PART = s.object({
  /** What the record does not hold. */
  part: s.oneOf('instructions', 'memory', 'account', 'rules', 'wire'),
  /** Why this part of the request is not known any more. */
  reason: s.TEXT,
});

/** A part of a request that the record does not hold. */
export interface UnknownPart extends s.ValueOf<typeof UNKNOWN_PART> {}

const REQUEST_ITEM = s.object({
  /** The offset of its event in the record. */
  offset: s.NUMBER,
  /** The index in the content of the event. */
  index: s.NUMBER,
  /** `user`, the name of the agent, or `memory`. Results of tools have the agent as their author. */
  author: s.TEXT,
  /** The kind of the part. */
  type: s.oneOf('message', 'tool_call', 'tool_result'),
  /** The name of the tool, or the role of the message. */
  name: s.TEXT,
  /** The call to which it belongs. Absent unless it is a call or a result. */
  callId: s.optional(s.TEXT),
  /** The beginning of it. */
  text: s.TEXT,
});

/** An item of the conversation of a request. */
export interface RequestItem extends s.ValueOf<typeof REQUEST_ITEM> {}

const DIFF_MEMBERS = {
  /** The step that the request is compared with. */
  step: s.NUMBER,
  /** Items that the other request does not have. */
  added: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Results of tools whose content was taken out since. */
  evicted: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Items that are not in the conversation any more: a summary stands in their place, if there is one, or a check has refused them. */
  summarised: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The entries of the memory among those that were added. */
  recalled: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The parts besides the conversation that differ, such as `model`, `instructions/0`, `tools/search`, `settings/toolChoice`. */
  changed: s.listOf(s.TEXT),
  /** What both begin with, in the order of tools, instructions, conversation: what the cache of a provider can use. Estimated. */
  commonPrefix: s.object({
    tokens: s.NUMBER,
    /** All tokens of this request. */
    of: s.NUMBER,
  }),
};

/** The difference of a request to another one. */
export interface RequestDiff extends s.ObjectOf<typeof DIFF_MEMBERS> {}

const WIRE = s.object({
  /** The API, such as `openai.chat`. */
  api: s.TEXT,
  /** The path behind the base URL. */
  path: s.TEXT,
  /** The body as the provider received it, without secrets. */
  body: s.shape<JsonObject>(s.JSON_OBJECT),
});

/** A request in the form of the API of its provider. */
export interface WireRequest extends s.ValueOf<typeof WIRE> {}

const MEMBERS = {
  /** The run whose step it is. */
  runId: s.TEXT,
  /** 1-based. */
  step: s.NUMBER,
  /** `provider/model`: the one that answered, or the first of the agent. */
  model: s.TEXT,
  /** The digest of the agent that acted: `snapshot` has it. */
  agentDigest: s.TEXT,
  /** The number of events that the conversation was made of. */
  through: s.NUMBER,
  /** The optional final attempt after the step limit. */
  final: s.optional(s.TRUE),
  /** The model has not answered yet. */
  open: s.optional(s.TRUE),
  /** What the model was given. */
  request: s.anyObject<ModelRequest>(),
  /** Absent if the reader has no provider that can tell. */
  wire: s.optional(s.shape<WireRequest>(WIRE)),
  /** What changed since the request of the step before. Absent for the first step. */
  diff: s.optional(s.shape<RequestDiff>(s.object(DIFF_MEMBERS))),
  /** The request was built from the record, by the code of the worker. */
  asOf: s.fixed('rebuilt'),
  /** What the record does not hold, and is therefore missing. */
  unknown: s.listOf<UnknownPart>(UNKNOWN_PART),
};

/** The request of a step: what the model was asked. */
export interface StepRequest extends s.ObjectOf<typeof MEMBERS> {}
export const STEP_REQUEST: s.Shape<StepRequest> = s.object(MEMBERS);
