import type { z } from 'zod';
import type { OpenAIOptions } from '../../activities/models/openai/openai.ts';
import type { ContentItem, ContentPart } from '../../src/core/domain/content.ts';
import type { ErrorCode } from '../../src/core/domain/errors.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import type { AgentOptions, AnyAgent } from '../../src/index.ts';
import type { Occurrence } from '../../src/testing/index.ts';
import type { CellProvider, Exchanged, ScriptEntry } from './fake-provider.ts';
import type { Family } from './families/family.ts';
import type { Reply } from './answer.ts';
import type { Api, SentRequest } from './sent-request.ts';
import type { LiveSession, SessionAct } from './session-in-memory.ts';

/** A call of a tool that has run: its name and its arguments. */
export type Ran = readonly [name: string, args: object];

/** What a cell has, for conversations that need more than their script. */
export interface Stage {
  family: Family;
  provider: CellProvider;
  /** The calls that have run, in the order of their beginnings. */
  ran: Ran[];
  /** The account of the next requests. Each cell has its own: the requests of one account wait for each other when it is limited. */
  key: string;
  /** Returns an agent that asks the model of the family. */
  agent: (changes?: AgentChanges) => AnyAgent;
  /** What happens while the tool `slow` runs. */
  whileSlow?: () => void;
  /** The session, once it has begun. */
  session?: LiveSession;
  /** Ends what a conversation has started. */
  cleanUps: (() => unknown)[];
}

/** Changes of the agent of a conversation. */
export type AgentChanges = Partial<AgentOptions<z.ZodType, never>>;

/** The tools of an agent. */
export type Tools = NonNullable<AgentChanges['tools']>;

/** What a cell has led to. */
export interface Outcome {
  result: { status: RunResultFields['status']; output: unknown; error: string | null; errorCode?: string | undefined };
  /** The results of the turns of a session. */
  turns: readonly RunResultFields[];
  events: readonly Event[];
  steps: readonly StepResult[];
  exchanged: readonly Exchanged[];
  ran: readonly Ran[];
}

/** What must hold after a conversation, whatever the family. */
export interface Expectation {
  /** Default: `completed`. */
  status?: RunResultFields['status'];
  /** Default: the text of the last thing that the model says. */
  output?: unknown;
  /** `check` judges the output. */
  anyOutput?: true;
  /** Default: none. In the order of the calls. */
  ran?: readonly Ran[];
  /** `check` judges the calls. */
  anyRan?: true;
  /** The code of the error of the run. */
  code?: ErrorCode | readonly ErrorCode[];
  /** What the error of the run must say. */
  says?: (family: Family) => string;
  /** The outputs of the turns of a session; the status of a turn that did not complete. */
  turns?: readonly unknown[];
  /** Refusals that the conversation provokes, besides refusals by rules that have to be learned for the family. */
  refusals?: number;
  /** The models whose rules have to be learned. Default 1. */
  models?: number;
  /** False: the script may be left unused. */
  usedUp?: false;
  /** The run may also end with an error with the provider's message: the caller has requested something that the provider lacks. */
  orTruthfulError?: true;
  /** Returns what else does not hold. */
  check?: (outcome: Outcome, family: Family) => string | undefined;
}

/** A row of the table. */
export interface Conversation {
  name: string;
  /** Default: both. The others have no such form of an answer. */
  apis?: readonly Api[];
  /** Default: a question about an order. */
  input?: string | ContentPart[];
  /** The conversation before the input. */
  messages?: readonly ContentItem[];
  agent?: AgentChanges | ((stage: Stage) => AgentChanges | Promise<AgentChanges>);
  meanwhile?: readonly Occurrence[];
  /** Options of `openai()`, in addition to the options of the family. */
  client?: Omit<OpenAIOptions, 'baseURL' | 'apiKey' | 'headers'>;
  /** What the provider does with the requests that keep its rules, in order. */
  script: readonly ScriptEntry[] | ((family: Family) => readonly ScriptEntry[]);
  /** How it handles all requests after the script. Default: there are none. */
  always?: (request: SentRequest) => Reply;
  /** Longer requests are too long for the provider, in bytes. */
  longest?: number;
  /** A session with these acts, instead of a run. */
  session?: (stage: Stage) => readonly SessionAct[];
  /** What happens while the tool `slow` runs. */
  whileSlow?: (stage: Stage) => void;
  expect: Expectation;
}

export const QUESTION = 'Where is order 42?';

/** Half of a character, as at the end of a text that was cut by its length. */
export const HALF_CHARACTER = '\ud83d';
