export { buildChatMessages, type ChatMessage, type ChatPart } from './chat-messages.ts';
export type { OpenAICapabilities } from './capabilities.ts';
export { openai, type OpenAIOptions } from './openai.ts';
