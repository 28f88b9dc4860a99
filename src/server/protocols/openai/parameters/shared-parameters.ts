import { z } from 'zod';

/** Data of the caller that is kept with the run. */
export const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((value) => Object.keys(value).length <= 16, 'write at most 16 keys');

/** Parameters that change nothing here: hints for caches, and names of users, whom the credentials name. */
export const NO_EFFECT = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'] as const;
