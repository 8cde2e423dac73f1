import asyncio

async def forever():
    await asyncio.Event().wait()

asyncio.run(forever())
