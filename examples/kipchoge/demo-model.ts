import type { ModelClient } from 'longhaul';
import { openai } from 'longhaul/worker';
import { kipchoge } from './agent.ts';
import { startScriptedModel } from './scripted-model.ts';

/** The model of the demo: a real one if there is a key, a scripted one otherwise. */
export interface DemoModel {
  client: ModelClient;
  agent: typeof kipchoge;
  /** Says which model it is, for the person at the terminal. */
  lines: string[];
  stop(): Promise<void>;
}

/** Real models take longer to begin an answer; without a pause there would be nothing to watch. */
const SCRIPTED_PAUSE_MS = 300;

/** Chooses the model by `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`. Throws a UsageError for an invalid URL. */
export async function demoModel(env: NodeJS.ProcessEnv): Promise<DemoModel> {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = env;
  if (apiKey) {
    const client = openai({ apiKey, ...(baseURL ? { baseURL } : {}) });
    const where = baseURL ? ` at ${baseURL} (OPENAI_BASE_URL)` : ' of OpenAI';
    const line = `OPENAI_API_KEY is set: using the model "${kipchoge.model.replace(/^openai\//, '')}"${where}`;
    return { client, agent: kipchoge, lines: [line], stop: async () => undefined };
  }
  const { baseURL: scriptedURL, stop } = await startScriptedModel({ pauseMs: SCRIPTED_PAUSE_MS });
  const lines = [`No OPENAI_API_KEY: using a scripted model on ${new URL(scriptedURL).origin} that speaks the OpenAI API`];
  if (baseURL) lines.push('OPENAI_BASE_URL alone is not used: set OPENAI_API_KEY too, to any text where the server asks for none');
  return { client: openai({ apiKey: 'scripted', baseURL: scriptedURL }), agent: { ...kipchoge, model: 'openai/scripted' }, lines, stop };
}
