export { buildChatMessages, type ChatMessage, type ChatPart } from './openai/chat-messages.ts';
export type { ApiKey, GivenKey, KeyContext } from './openai/openai.ts';
export type { OpenAICapabilities } from './openai/capabilities.ts';
export { openai, type OpenAIOptions } from './openai/openai.ts';
export type { TooLongRule } from './errors/too-long.ts';
