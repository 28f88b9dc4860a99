import { defineAgent } from '../../src/define/define-agent.ts';

/** The agent of all sessions: it has no tools, and defaults for everything else. */
export const talker = defineAgent({ name: 'talker', model: 'echo/model', instructions: 'You answer each question.' });
