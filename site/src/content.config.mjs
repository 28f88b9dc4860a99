import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { docsSchema } from '@astrojs/starlight/schema';

// The pages that `main.ts` has written: the ids are their paths as they are, with upper case.
export const collections = {
  docs: defineCollection({
    loader: glob({
      pattern: '**/*.md',
      base: './.cache/content',
      generateId: ({ entry }) => entry.replace(/(?:^|\/)index\.md$|\.md$/, '') || 'index',
    }),
    schema: docsSchema(),
  }),
};
