/*
 * What this client uses of the specifications v3 and v4 of the AI SDK. The types are structural: a worker gets the models of the user's
 * own packages, of which one process may hold several generations.
 */

/** Metadata of an answer, or options of a request: an object below the name of each provider. */
export type ProviderMetadata = Record<string, Record<string, unknown>>;

/** A language model of a provider package of the AI SDK, of specification v3 or v4. */
export interface AiSdkModel {
  readonly specificationVersion: 'v3' | 'v4';
  /** The name of its provider, such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** The URLs that the provider reads by itself, by media type. */
  readonly supportedUrls: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  doStream(
    options: CallOptions,
  ): PromiseLike<{ stream: ReadableStream<StreamPart>; response?: { headers?: Record<string, string> | undefined } | undefined }>;
}

/** One request. */
export interface CallOptions {
  prompt: object[];
  maxOutputTokens?: number | undefined;
  temperature?: number | undefined;
  responseFormat?: object | undefined;
  tools?: object[] | undefined;
  toolChoice?: object | undefined;
  /** v4 alone. */
  reasoning?: string | undefined;
  providerOptions?: object | undefined;
  abortSignal?: AbortSignal | undefined;
}

export type PromptMessage = Annotated &
  (
    | { role: 'system'; content: string }
    | { role: 'user'; content: UserPart[] }
    | { role: 'assistant'; content: AssistantPart[] }
    | { role: 'tool'; content: ToolResultPart[] }
  );

/** What the provider reads besides: for a part, what the answer that it comes from had with it. */
interface Annotated {
  providerOptions?: ProviderMetadata;
}

interface TextPart extends Annotated {
  type: 'text';
  text: string;
}

/** Its data has another form in each specification. */
interface FilePart {
  type: 'file';
  mediaType: string;
  data: unknown;
  filename?: string;
}

export type UserPart = TextPart | FilePart;

interface ToolCallPart extends Annotated {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: true;
}

interface ToolResultPart extends Annotated {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text' | 'error-text' | 'json' | 'error-json'; value: unknown };
}

export type AssistantPart =
  | TextPart
  | ToolCallPart
  | ToolResultPart
  | (FilePart & Annotated)
  | ({ type: 'reasoning'; text: string } & Annotated)
  | ({ type: 'custom'; kind: string } & Annotated);

/** A piece of an answer. A package may set any member wrongly. */
export interface StreamPart {
  type: string;
  id?: unknown;
  delta?: unknown;
  toolCallId?: unknown;
  toolName?: unknown;
  input?: unknown;
  result?: unknown;
  isError?: unknown;
  preliminary?: unknown;
  providerExecuted?: unknown;
  kind?: unknown;
  mediaType?: unknown;
  data?: unknown;
  url?: unknown;
  title?: unknown;
  filename?: unknown;
  citations?: unknown;
  warnings?: unknown;
  usage?: unknown;
  finishReason?: unknown;
  providerMetadata?: unknown;
  error?: unknown;
}
