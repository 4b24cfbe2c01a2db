// Tabs of the same browser tell each other what changed, so that two of them side by side show the same.

const channel = "BroadcastChannel" in window ? new BroadcastChannel("ricordo") : null;

export type News = { kind: "session" | "removed" | "documents" | "erased"; session?: string; title?: string };

export function tell(news: News): void {
  channel?.postMessage(news);
}

export function hear(listener: (news: News) => void): void {
  channel?.addEventListener("message", (event) => listener(event.data as News));
}
