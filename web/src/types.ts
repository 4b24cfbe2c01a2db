// The shapes that the server speaks, as far as the page reads them.

export interface Session {
  id: string;
  agent_id: string;
  title: string | null;
  opening: string | null;
  created_at: string;
  last_active_at: string;
  ended_at: string | null;
  turn_count: number;
  document_ids: string[];
  tags: string[];
  archived: boolean;
}

export interface Offered {
  chunk_id: string;
  text: string;
  score?: number | null;
  document_id?: string | null;
  title?: string | null;
}

export interface Reference {
  turn_number: number;
  kind: string;
  label: string;
  text: string;
  chunk_ids: string[];
  confidence: number;
}

/** A message of the past that was quoted or sent along. */
export interface Recalled {
  message_id: string;
  session_id: string;
  turn_number: number;
  role: string;
  day: string;
}

export interface Clarification {
  question: string;
  options: { label: string; text: string }[];
}

export interface Crisis {
  tier: number;
  category: string;
  notice: string;
  helplines: { name: string; number: string }[];
}

export interface Turn {
  id: string;
  turn_number: number;
  query: string;
  response: string | null;
  created_at: string;
  answered_at: string | null;
  chunk_ids: string[];
  metadata: Record<string, unknown>;
  tokens: { query: number; response: number };
  topic_id: string | null;
  archived: boolean;
  open: boolean;
  failure: { cause: string; status: number | null; message: string; at: string } | null;
  helpful: boolean | null;
  damage: string;
}

export interface ChatResponse {
  query: string;
  message: string;
  data: Offered[];
  intent: string;
  confidence: number;
  session_id: string;
  metadata: Record<string, any>;
  error: string | null;
}

export interface ReceiptItem {
  section: string;
  id: string;
  tokens: number;
  kept: boolean;
  reason: string;
  in_prompt: boolean;
  shortened: boolean;
}

export interface Receipt {
  question: string;
  limit: number;
  answer_reserve: number;
  total_tokens: number;
  prompt_tokens: number;
  shares: Record<string, number>;
  sections: Record<string, number>;
  items: ReceiptItem[];
  counter: string;
  counter_exact: boolean;
  degraded: string[];
  turn_number: number | null;
  standalone: string;
  embedder: string;
}

/** An item of a receipt as a reader knows it. */
export interface NamedItem {
  title: string;
  snippet: string;
  cited: boolean;
  score: number | null;
  reasons: string[];
  chunk_id: string | null;
  session_id: string | null;
  turn_number: number | null;
  role: string | null;
  said_at: string | null;
}

/** The receipt of a turn, the names of its items, and how it was answered. */
export interface Trace {
  receipt: Receipt;
  items: Record<string, NamedItem>;
  answer: {
    answerer: string;
    intent: string;
    tokens: Record<string, number>;
    timings_ms: Record<string, number>;
    answer_tokens: number;
  };
}

export interface Sent {
  receipt: Receipt;
  messages: { role: string; content: string }[];
  prompt: string;
}

export interface Topic {
  id: string;
  title: string;
  tags: string[];
  importance: number;
  access_count: number;
  half_life_days: number;
  priority: number;
  memory_type: string;
  state: string;
  created_at: string;
  last_active_at: string;
  message_count: number;
  active_messages: number;
  archived_messages: number;
  archived_bytes: number;
  turns: number[];
  summary: string | null;
  curve: { at: string; priority: number }[];
}

export interface Fact {
  id: string;
  kind: string;
  text: string;
  sentence: string;
  about: string;
  valid_from: string;
  valid_to: string | null;
  superseded_by: string | null;
  made_by: string;
  origin: string;
  pinned: boolean;
  sources: { message_id: string; session_id: string; turn_number: number | null; quote: string }[];
}

export interface Profile {
  recent_summary: string;
  key_facts: string[];
  topics: string[];
  last_session_date: string | null;
  prompt: string;
  tokens: number;
}

export interface Summary {
  id: string;
  kind: string;
  text: string;
  first_turn: number;
  last_turn: number;
  topics: string[];
  made_by: string;
  created_at: string;
  tokens: number;
  origin: string;
}

export interface Flag {
  id: string;
  subject: string;
  subject_id: string;
  session_id: string;
  rules: string[];
  origin: string;
  state: string;
  created_at: string;
}

export interface EraseReceipt {
  user_id: string;
  erased_at: string;
  removed: Record<string, number>;
  notes: string[];
}

export interface Document {
  id: string;
  title: string;
  kind: string;
  created_at: string;
  chunk_count: number;
  bytes: number;
  shared: boolean;
}

export interface Passage {
  id: string;
  document_id: string;
  title: string;
  heading: string;
  text: string;
  page: number | null;
  before?: string;
  after?: string;
}

export interface Hit {
  message_id: string;
  session_id: string;
  session_title: string | null;
  turn_number: number;
  role: string;
  text: string;
  snippet: { text: string; hit: boolean }[];
  created_at: string;
  score: number;
  near: boolean;
  reasons: string[];
  archived: boolean;
}

export interface Stats {
  store: string;
  preset: string;
  counter: string;
  counter_exact: boolean;
  embedder: string;
  llm: string;
  holds: Record<string, number>;
  degraded: string[];
  jobs: Record<string, number | string | null>;
  latency_ms: Record<string, number | null>;
  build: { version: string };
}

export interface Series {
  days: { day: string; sessions: number; turns: number; tokens: number; condensations: number; facts: number }[];
  storage_bytes: { day: string; bytes: number }[];
}

export interface Me {
  tenant_id: string;
  user_id: string | null;
  scopes: string[];
  authenticated: boolean;
  locale: string;
  answerer: string;
  version: string;
}
