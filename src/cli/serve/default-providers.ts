import type { ModelClient } from '../../core/domain/model/model.ts';
import type { Output } from '../output.ts';

/** The providers of a module that exports none: `openai`, from the environment. Says so early where a key seems to be missing. */
export async function defaultProviders(output: Pick<Output, 'note'>, env: NodeJS.ProcessEnv): Promise<Record<string, ModelClient>> {
  const { openai } = await import('../../../activities/models/index.ts');
  if (!env['OPENAI_API_KEY'] && !env['OPENAI_BASE_URL']) {
    output.note('OPENAI_API_KEY is not set: calls to models "openai/…" will fail. Set it, or export "providers" from the agents module.');
  }
  return { openai: openai() };
}
