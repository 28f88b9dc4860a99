export { buildChatMessages, type ChatMessage, type ChatPart } from './chat-messages.ts';
export type { ApiKey, GivenKey, KeyContext } from './api-key.ts';
export type { OpenAICapabilities } from './capabilities.ts';
export { openai, type OpenAIOptions } from './openai.ts';
