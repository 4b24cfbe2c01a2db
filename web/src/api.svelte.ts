// The way to the server: one call for JSON, one for streams. It notes whether the service is there, whether it is
// degraded and whether it wants a credential, so that the page can say so wherever it stands.
//
// Whose data is meant travels in the query, not in a header: the browser's cache then keeps users apart by address.

import { credential, prefs } from "./prefs.svelte";

/** What the server tells of a refusal; a proxy in between may tell less. */
export interface Told {
  status?: number | null;
  detail?: string;
  code?: string;
  cause?: string;
}

/** A request that failed; its status is 0 if no answer came. */
export class Problem extends Error {
  status: number;
  code: string;

  constructor(status: number, told: Told = {}, otherwise = "") {
    super(told.detail ?? otherwise);
    this.status = status;
    this.code = told.code ?? "";
  }
}

class Service {
  degraded = $state(false);
  reachable = $state(true);
  locked = $state(false);
  #back: (() => void)[] = [];
  #asking: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener("online", () => this.reachable || this.#ask());
    addEventListener("offline", () => this.lost());
  }

  /** Called once the service is whole again after it was degraded or away. */
  onBack(listener: () => void): void {
    this.#back.push(listener);
  }

  saw(response: Response): void {
    this.#changed(true, response.headers.has("X-Ricordo-Degraded"));
  }

  lost(): void {
    this.#changed(false, this.degraded);
  }

  #changed(reachable: boolean, degraded: boolean): void {
    const was = !this.reachable || this.degraded;
    this.reachable = reachable;
    this.degraded = degraded;
    if (!reachable || degraded) this.#look();
    else if (was) for (const listener of this.#back) listener();
  }

  /** Look again every few seconds for as long as something is missing. */
  #look(): void {
    clearTimeout(this.#asking);
    this.#asking = setTimeout(() => this.#ask(), 2000);
  }

  #ask(): void {
    fetch("/health", { cache: "no-store" }).then(
      (response) => (response.ok ? this.saw(response) : this.lost()),
      () => this.lost(),
    );
  }
}

export const service = new Service();

export interface Ask {
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  form?: FormData;
  accept?: string;
  signal?: AbortSignal;
  keepalive?: boolean;
  everybody?: boolean;
}

export function address(path: string, query: Ask["query"] = {}, everybody = false): string {
  const parameters = new URLSearchParams();
  if (prefs.user && !everybody) parameters.set("user_id", prefs.user);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const asked = parameters.toString();
  return asked ? `${path}?${asked}` : path;
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const key = credential.get();
  return key ? { Authorization: `Bearer ${key}`, ...more } : more;
}

export async function send(method: string, path: string, ask: Ask = {}): Promise<Response> {
  const more: Record<string, string> = {};
  if (ask.body !== undefined) more["Content-Type"] = "application/json";
  if (ask.accept) more["Accept"] = ask.accept;
  let response: Response;
  try {
    response = await fetch(address(path, ask.query, ask.everybody), {
      method,
      headers: headers(more),
      body: ask.form ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body)),
      signal: ask.signal,
      keepalive: ask.keepalive,
    });
  } catch (error) {
    if ((error as Error).name !== "AbortError") service.lost();
    throw error;
  }
  service.saw(response);
  if (response.ok) return response;
  if (response.status === 401) service.locked = true;
  const told = await response.json().catch(() => ({}));
  throw new Problem(response.status, told, response.statusText);
}

export async function call<T>(method: string, path: string, ask: Ask = {}): Promise<T> {
  const response = await send(method, path, ask);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export const get = <T>(path: string, query?: Ask["query"]): Promise<T> => call<T>("GET", path, { query });

export interface StreamEvent {
  name: string;
  number: number;
  data: any;
}

/** Server-sent events as they arrive. */
export async function* events(response: Response): AsyncGenerator<StreamEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      held += value;
      const blocks = held.split("\n\n");
      held = blocks.pop()!;
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): StreamEvent | null {
  let name = "message";
  let id = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "event") name = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
  if (!data.length) return null;
  return { name, number: Number(id.slice(id.lastIndexOf(":") + 1)) || 0, data: JSON.parse(data.join("\n")) };
}

/** Hand a file to the person. */
export async function download(path: string, query: Ask["query"], name: string): Promise<void> {
  const content = await (await send("GET", path, { query })).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Send a file and say how far it has come, from 0 to 1. */
export function upload(path: string, query: Ask["query"], file: File, moved: (part: number) => void): Promise<any> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address(path, query));
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && moved(event.loaded / event.total);
    request.onerror = () => {
      service.lost();
      reject(new Problem(0));
    };
    request.onload = () => {
      let told: any = {};
      try {
        told = JSON.parse(request.responseText);
      } catch {
        told = {};
      }
      if (request.status < 400) resolve(told);
      else reject(new Problem(request.status, told, request.statusText));
    };
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}
