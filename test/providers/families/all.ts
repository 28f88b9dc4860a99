import type { Family } from './family.ts';
import { DEEPSEEK, GEMINI, GROQ, KIMI, MISTRAL, XAI } from './hosted.ts';
import { LLAMACPP_GEMMA, MINIMAX, OLLAMA, SGLANG, VLLM_GEMMA, VLLM_QWEN } from './local.ts';
import { AZURE, OPENAI_CHAT, OPENAI_RESPONSES } from './openai.ts';
import { LITELLM_ANTHROPIC, LITELLM_BEDROCK, OPENROUTER } from './routers.ts';

/** The families of providers, each with what its servers really refuse and say. */
export const FAMILIES: readonly Family[] = [
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  AZURE,
  DEEPSEEK,
  KIMI,
  GEMINI,
  MISTRAL,
  GROQ,
  XAI,
  LITELLM_ANTHROPIC,
  LITELLM_BEDROCK,
  OPENROUTER,
  VLLM_QWEN,
  VLLM_GEMMA,
  LLAMACPP_GEMMA,
  OLLAMA,
  SGLANG,
  MINIMAX,
];
