/** JupyterLab writes a notification as plain lines; the first line of ours is its title. */

/** How long a notification may take to appear. */
const PATIENCE_MS = 5000;

/** Marks the notification of this id, once it is on the page, so that its first line is set as a title. */
export function setTitled(id: string): void {
  const mark = (): boolean => {
    const toast = document.getElementById(id);
    toast?.setAttribute('data-dra-titled', '');
    return toast !== null;
  };
  if (mark()) {
    return;
  }
  const observer = new MutationObserver(() => {
    if (mark()) {
      observer.disconnect();
    }
  });
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), PATIENCE_MS);
}
