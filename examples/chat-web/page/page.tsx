import { type Chat, useChat } from '@ai-sdk/react';
import { isToolUIPart } from 'ai';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { catchUp, type ChatMessage, hearDecisions, isOfOthers, keepUnsent, openChat, stopAnswer } from './chat.ts';

/** The pause before a page that was cut off tries again. */
const RETRY_MS = 1_000;

function Page({ chat }: { chat: Chat<ChatMessage> }): ReactNode {
  const { messages, status, error, sendMessage } = useChat({ chat });
  const [text, setText] = useState('');
  const isBusy = status === 'submitted' || status === 'streaming';
  useEffect(() => keepUnsent(chat), [chat, messages]);
  useEffect(() => void catchUp(chat), [chat]);
  useEffect(() => hearDecisions(chat), [chat, messages, status]);
  // `fetch` fails with a TypeError if the connection is lost.
  const isCutOff = error instanceof TypeError;
  useEffect(() => {
    if (!isCutOff) return undefined;
    const timer = setTimeout(() => void catchUp(chat), RETRY_MS);
    return () => clearTimeout(timer);
  }, [chat, isCutOff, error]);
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    void sendMessage({ text });
    setText('');
  };
  return (
    <>
      <h1>Chat with the clerk of a shop</h1>
      {messages.map((message) => (
        <Message key={message.id} chat={chat} message={message} />
      ))}
      <p role="status" className={error === undefined || isCutOff ? 'note' : 'problem'} data-status={status}>
        {isCutOff ? 'The connection is lost. Trying again …' : (error?.message ?? (isBusy ? 'The clerk is answering …' : ''))}
      </p>
      <form onSubmit={send}>
        <input
          aria-label="Your message"
          dir="auto"
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="Order 42 arrived broken, or: tell me a story"
        />
        {isBusy && (
          <button type="button" className="quiet" onClick={() => void stopAnswer(chat)}>
            Stop
          </button>
        )}
        <button>Send</button>
      </form>
    </>
  );
}

function Message({ chat, message: { role, parts, metadata } }: { chat: Chat<ChatMessage>; message: ChatMessage }): ReactNode {
  return (
    <article className={role}>
      {parts.map((part, index) => {
        // Each message has the direction of its own script.
        if (part.type === 'text')
          return (
            <p key={index} dir="auto">
              {part.text}
            </p>
          );
        return isToolUIPart(part) ? <Call key={part.toolCallId} chat={chat} part={part} /> : undefined;
      })}
      {metadata?.stopReason === 'cancelled' && <p className="note">Stopped.</p>}
    </article>
  );
}

type ToolPart = Extract<ChatMessage['parts'][number], { toolCallId: string }>;

function Call({ chat, part }: { chat: Chat<ChatMessage>; part: ToolPart }): ReactNode {
  const decide = (approved: boolean): void => {
    if (part.approval !== undefined) void chat.addToolApprovalResponse({ id: part.approval.id, approved });
  };
  return (
    <div className="call" data-state={part.state}>
      <code>
        {part.type.replace(/^tool-/, '')} {JSON.stringify(part.input)}
      </code>
      {part.state === 'approval-requested' && isOfOthers(part) && <div>Someone else decides.</div>}
      {part.state === 'approval-requested' && !isOfOthers(part) && (
        <div>
          <button type="button" onClick={() => decide(true)}>
            Approve
          </button>
          <button type="button" className="quiet" onClick={() => decide(false)}>
            Reject
          </button>
        </div>
      )}
      {part.state === 'output-available' && <div>{JSON.stringify(part.output)}</div>}
      {part.state === 'output-error' && <div className="problem">{part.errorText}</div>}
      {part.state === 'output-denied' && <div>Rejected.</div>}
    </div>
  );
}

/** Shows the chat that the URL names, and another one once it names another: by a link, or by the buttons back and forward. */
function NamedChat(): ReactNode {
  const [chat, setChat] = useState<Chat<ChatMessage>>();
  useEffect(() => {
    let newest = '';
    const open = async (): Promise<void> => {
      if (location.hash === '') history.replaceState(null, '', `#${crypto.randomUUID()}`);
      const id = (newest = location.hash.slice(1));
      // A message would go to the chat that is shown, not to the one in the URL.
      setChat(undefined);
      const opened = await openChat(id);
      if (id === newest) setChat(opened);
    };
    const follow = (): void => void open();
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return chat === undefined ? undefined : <Page key={chat.id} chat={chat} />;
}

const root = document.querySelector('#page');
if (root !== null) createRoot(root).render(<NamedChat />);
