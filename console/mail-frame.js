// Show the HTML that the console posts, in a frame that runs no script. This page and the frame in
// it have origins of their own, and the policy of this page holds for the frame too.
addEventListener("message", (event) => {
  if (event.source !== parent || typeof event.data?.html !== "string") return;
  const former = [...document.body.children];
  const frame = document.createElement("iframe");
  frame.title = "HTML of the mail";
  frame.sandbox = "allow-popups allow-popups-to-escape-sandbox";
  frame.referrerPolicy = "no-referrer";
  frame.srcdoc = `<base target="_blank">${event.data.html}`;
  // The former version stays in sight until this one is there.
  frame.addEventListener("load", () => {
    for (const each of former) each.remove();
  });
  document.body.append(frame);
});
