/*
 * The parts of the AI SDK's specifications v3 and v4 that this client uses. The types are structural: a worker gets the models of the
 * user's own packages, of which one process may hold several generations.
 */

/** Metadata of an answer, or options of a request: an object for each provider name. */
export type ProviderMetadata = Record<string, Record<string, unknown>>;

/** A language model of an AI SDK provider package, of specification v3 or v4. */
export interface AiSdkModel {
  /** The version of the AI SDK's interface. */
  readonly specificationVersion: 'v3' | 'v4';
  /** The name of its provider, such as `anthropic.messages`. */
  readonly provider: string;
  /** The id of the model at its provider. */
  readonly modelId: string;
  /** The URLs that the provider fetches itself, by media type. */
  readonly supportedUrls: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  /** Asks the model and streams its answer. */
  doStream(
    options: CallOptions,
  ): PromiseLike<{ stream: ReadableStream<StreamPart>; response?: { headers?: Record<string, string> | undefined } | undefined }>;
}

/** One request. */
export interface CallOptions {
  /** The conversation in the AI SDK's format. */
  prompt: object[];
  /** The maximum tokens of the answer. */
  maxOutputTokens?: number | undefined;
  /** How freely the model chooses its words. */
  temperature?: number | undefined;
  /** Text, or JSON with a schema. */
  responseFormat?: object | undefined;
  /** The tools that the model may call. */
  tools?: object[] | undefined;
  /** Which tools it may or must call. */
  toolChoice?: object | undefined;
  /** Only in v4. */
  reasoning?: string | undefined;
  /** Options for one provider, by its name. */
  providerOptions?: object | undefined;
  /** Ends the request. */
  abortSignal?: AbortSignal | undefined;
}

export type PromptMessage = Annotated &
  (
    | { role: 'system'; content: string }
    | { role: 'user'; content: UserPart[] }
    | { role: 'assistant'; content: AssistantPart[] }
    | { role: 'tool'; content: ToolResultPart[] }
  );

/** Additional options for the provider: for a part of an earlier answer, the metadata that came with it. */
interface Annotated {
  providerOptions?: ProviderMetadata;
}

interface TextPart extends Annotated {
  type: 'text';
  text: string;
}

/** The form of its data differs between the specifications. */
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
  /** Only in v4. */
  | ({ type: 'reasoning-file'; mediaType: string; data: object } & Annotated)
  | ({ type: 'custom'; kind: string } & Annotated);

/** A piece of an answer. A package may set any member wrongly. */
export interface StreamPart {
  /** The AI SDK's type of the part. */
  type: string;
  /** The id of the text, the reasoning or the call that it belongs to. */
  id?: unknown;
  /** A piece of text or of arguments. */
  delta?: unknown;
  /** The id of the call. */
  toolCallId?: unknown;
  /** The name of the tool. */
  toolName?: unknown;
  /** The arguments of a call as JSON text. */
  input?: unknown;
  /** The result of a tool that the provider ran. */
  result?: unknown;
  /** True if that result is an error. */
  isError?: unknown;
  /** True if another result replaces it. */
  preliminary?: unknown;
  /** True if the provider runs the tool. */
  providerExecuted?: unknown;
  /** The kind of a custom part. */
  kind?: unknown;
  /** The media type of a file. */
  mediaType?: unknown;
  /** The content of a file. */
  data?: unknown;
  /** The address of a source. */
  url?: unknown;
  /** The title of a source. */
  title?: unknown;
  /** The name of a file. */
  filename?: unknown;
  /** Passages that support the text. */
  citations?: unknown;
  /** The parts of the request that the provider ignored. */
  warnings?: unknown;
  /** The tokens that the provider reports. */
  usage?: unknown;
  /** Why the answer ended. */
  finishReason?: unknown;
  /** Additional metadata, by provider name. */
  providerMetadata?: unknown;
  /** The error that ended the answer. */
  error?: unknown;
}
