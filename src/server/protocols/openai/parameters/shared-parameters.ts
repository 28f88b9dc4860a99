import { z } from 'zod';
import { members } from '../../../schemas/bounded.ts';

/** Data of the caller that is kept with the run. */
export const metadata = members(z.string().max(512))
  .refine((value) => Object.keys(value).length <= 16, 'write at most 16 keys')
  .refine((value) => Object.keys(value).every((key) => key.length <= 64), 'write keys of at most 64 characters');

/** Parameters that change nothing here: hints for caches, and names of users, whom the credentials name. */
export const NO_EFFECT = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options'] as const;
