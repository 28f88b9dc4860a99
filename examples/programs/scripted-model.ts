import type { ModelClient, ModelRequest } from 'longhaul';

/** One answer of the script: to the first call whose prompt contains all these words. */
interface Answer {
  to: readonly string[];
  text: string;
}

/** Later attempts come first: their prompts contain the words of the first ones too. */
const ANSWERS: readonly Answer[] = [
  {
    to: ['When does', 'Phone line', 'Citation Breach'],
    text: 'It renews for 24 months on 15 January unless it is cancelled by 16 December [1], at €95 a month [5].',
  },
  { to: ['When does', 'Phone line'], text: 'It renews for 24 months on 15 January, at €95 a month.' },
  { to: ['When does', 'Copier lease'], text: 'It renews for a year on 1 March [4], at €310 a month [7].' },
  { to: ['When does', 'Cleaning'], text: 'It does not renew: it can end with any month [2]. It costs €480 a month [3].' },
  {
    to: ['Which one', 'Confidence'],
    text: JSON.stringify({ contract: 'Phone line', reason: 'Nobody has used it since May.', savings: 2280, confidence: 0.95 }),
  },
  {
    to: ['Which one'],
    text: JSON.stringify({ contract: 'Phone line', reason: 'It seems to be unused.', savings: 2280, confidence: 0.6 }),
  },
  {
    to: ['Write a letter', 'Name the date'],
    text: 'Nordwest Telecom, 12 Harbour Street\n\nWe cancel our phone line. Please confirm that it ends on 15 January.',
  },
  { to: ['Write a letter'], text: 'Nordwest Telecom, 12 Harbour Street\n\nWe cancel our phone line. Thank you for your service.' },
];

/** Creates a model that answers by a script, after a pause. */
export function scriptedModel({ pauseMs = 0 }: { pauseMs?: number } = {}): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async (request, { signal }) => {
      await pause(pauseMs, signal);
      const prompt = promptOf(request);
      const answer = ANSWERS.find(({ to }) => to.every((words) => prompt.includes(words)));
      const text = answer?.text ?? 'I am a scripted model and can only answer the questions of the demo.';
      const usage = usageOf(JSON.stringify([request.instructions, prompt]), text);
      return { content: text, toolCalls: [], usage, finishReason: 'stop' };
    },
  };
}

function promptOf({ conversation }: ModelRequest): string {
  return conversation
    .flatMap(({ content }) => content.map((item) => (item.type === 'message' && typeof item.content === 'string' ? item.content : '')))
    .join('\n');
}

/** Four characters are about one token. */
function usageOf(read: string, written: string): { promptTokens: number; completionTokens: number; totalTokens: number } {
  const [promptTokens, completionTokens] = [Math.ceil(read.length / 4), Math.ceil(written.length / 4)];
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
